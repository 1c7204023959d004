-- The average of the highest bids of each category.
CREATE TABLE sink (id BIGINT, final BIGINT) WITH ($sink);

INSERT INTO sink
SELECT Q.category, AVG(Q.final)
FROM (
  SELECT MAX(B.price) AS final, A.category
  FROM auction AS A, bid AS B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
  GROUP BY A.id, A.category
) AS Q
GROUP BY Q.category;
