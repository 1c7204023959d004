-- Writes bids to files in folders by day and minute.
CREATE TABLE sink (
  auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra VARCHAR, dt STRING, hm STRING
) PARTITIONED BY (dt, hm) WITH ($files);

INSERT INTO sink
SELECT auction, bidder, price, `dateTime`, extra, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd'), DATE_FORMAT(`dateTime`, 'HH:mm')
FROM bid;
