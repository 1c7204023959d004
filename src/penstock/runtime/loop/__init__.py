"""The loops that call operators: each runs one batch of one operator in one slot.

`engine/host/operator_instance.py` chooses the loop of an operator; kinds of operators with a loop of their own name it in
`engine/program/operator_kinds.py`::

    operator                             streaming mode                  batch mode
    -----------------------------------  ------------------------------  --------------------
    windows computed on columns          ColumnarLoop  (columnar/loop)   -
    patterns in event time, no guard     PatternLoop   (cep/loop)        BatchLoop
    all others                           SlotLoop      (slot)            BatchLoop  (batch)

    SlotLoop                 elements in the order of time-rules 1.6, one call each, event timers in between
     |-- BatchLoop           all elements of a key, then its timers, then the next key
     +-- PatternLoop         the events of a batch collected by key, each key advanced once
    ColumnarLoop             passes columns to the operator; no call per element, so it shares no code with SlotLoop

All loops share `Records` (input), `Advance` (the clocks of a batch), `OperatorContext` (clocks, timers, state), `CallSite`
(errors of user functions) and the emission order (`Emissions`, `Tags`). `on_error="dead_letter"` needs no loop of its own:
SlotLoop and BatchLoop take a `CallGuard`, which makes the calls one by one and undoes those that raise. Without a guard the
hot paths stay free of any extra work per element. The harness and Spark run the same loops.
"""
