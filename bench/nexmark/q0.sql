-- Passes bids through: the cost of reading and writing.
CREATE TABLE sink (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra VARCHAR) WITH ($sink);

INSERT INTO sink
SELECT auction, bidder, price, `dateTime`, extra FROM bid;
