-- Persons of three states who sell in category 10.
CREATE TABLE sink (name VARCHAR, city VARCHAR, state VARCHAR, id BIGINT) WITH ($sink);

INSERT INTO sink
SELECT P.name, P.city, P.state, A.id
FROM auction AS A
JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA');
