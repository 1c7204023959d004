-- Selects the bids of some auctions.
CREATE TABLE sink (auction BIGINT, price BIGINT) WITH ($sink);

INSERT INTO sink
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
