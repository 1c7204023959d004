-- Bids of a bidder in an auction as long as their average is low.
CREATE TABLE sink (
  auction BIGINT, bidder BIGINT, start_tstamp TIMESTAMP(3), end_tstamp TIMESTAMP(3), avg_price BIGINT
) WITH ($sink);

INSERT INTO sink
SELECT auction, bidder, start_tstamp, end_tstamp, avg_price
FROM bid
MATCH_RECOGNIZE (
  PARTITION BY auction, bidder
  ORDER BY `dateTime`
  MEASURES
    FIRST(A.`dateTime`) AS start_tstamp,
    LAST(A.`dateTime`) AS end_tstamp,
    AVG(A.price) AS avg_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+ B)
  DEFINE
    A AS AVG(A.price) < 10000
);
