-- Adds the bidder and the auctions that the bidder sells to each bid.
CREATE TABLE sink (
  bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, bid_extra VARCHAR,
  person_id BIGINT, name VARCHAR, emailAddress VARCHAR, creditCard VARCHAR, city VARCHAR, state VARCHAR, person_extra VARCHAR,
  itemName VARCHAR, description VARCHAR, initialBid BIGINT, reserve BIGINT, auction_dateTime TIMESTAMP(3),
  expires TIMESTAMP(3), seller BIGINT, category BIGINT, auction_extra VARCHAR
) WITH ($sink);

INSERT INTO sink
SELECT
  bidder, price, channel, url, B.extra,
  P.id, name, emailAddress, creditCard, city, state, P.extra,
  itemName, description, initialBid, reserve, A.`dateTime`, expires, seller, category, A.extra
FROM bid AS B
JOIN person AS P ON P.id = B.bidder
JOIN auction AS A ON A.seller = B.bidder;
