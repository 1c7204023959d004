"""The connector 'datagen': generated rows."""
