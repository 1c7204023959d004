-- Adds a value of a side table to each bid. The side table is a bounded folder of files, which neither system can look up, so it is
-- a regular join.
CREATE TABLE side_input (key BIGINT, `value` VARCHAR) WITH (
  'connector' = 'filesystem', 'path' = '$side', 'format' = 'json'
);

CREATE TABLE sink (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), `value` VARCHAR) WITH ($sink);

INSERT INTO sink
SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM bid AS B
JOIN side_input AS S ON MOD(B.auction, 10000) = S.key;
