"""Computes the expected results of the queries with DuckDB, and compares them with those of a system."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import events

# q12 has windows of processing time, and Penstock emits nothing for those that are open when the input ends (not compared with
# Flink yet). So only this is checked: no bidder has more bids than there are. An empty result passes, which is weak.
# In q9, q18 and q19 any of the rows with equal times or prices may be the result, so only columns that do not depend on the choice
# are compared, and q18 also checks that the row is a bid.
_RANKS = """count(*), count(*) FILTER (price < 10000), count(*) FILTER (price >= 10000 AND price < 1000000),
    count(*) FILTER (price >= 1000000)"""
_DISTINCT = ", ".join(
    f"count(DISTINCT {column}) FILTER ({condition})"
    for column in ("bidder", "auction")
    for condition in ("true", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
)
_DAY = "strftime(dateTime, '%Y-%m-%d')"
_BIDS_IN_TIME = "auction A JOIN bid B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires"
_CHANNEL_ID = r"nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')"
_BEST = f"""SELECT A.id, A.seller, B.price, B.dateTime FROM {_BIDS_IN_TIME}
    QUALIFY row_number() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC) = 1"""
# Sellers with two best bids at one time, whose averages depend on the order of these. q6 is compared for the others.
_TIES = f"SELECT DISTINCT seller FROM ({_BEST}) GROUP BY seller, dateTime HAVING count(*) > 1"
QUERIES = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """SELECT P.name, P.city, P.state, A.id FROM auction A JOIN person P ON A.seller = P.id
        WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""SELECT category, sum(final)::BIGINT // count(*)
        FROM (SELECT max(B.price) AS final, A.category FROM {_BIDS_IN_TIME} GROUP BY A.id, A.category) GROUP BY 1""",
    "q5": """WITH hops AS (SELECT auction, epoch_ms(dateTime) // 2000 - step AS first FROM bid, range(5) AS steps(step)),
        counts AS (SELECT auction, first, count(*) AS num FROM hops GROUP BY 1, 2)
        SELECT auction, num FROM counts QUALIFY num = max(num) OVER (PARTITION BY first)""",
    "q6": f"""WITH best AS ({_BEST})
        SELECT seller, (sum(price) OVER w)::BIGINT // count(*) OVER w FROM best
        WINDOW w AS (PARTITION BY seller ORDER BY dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)""",
    "q7": """WITH highest AS (SELECT max(price) AS price, epoch_ms(dateTime) // 10000 AS number FROM bid GROUP BY 2)
        SELECT B.auction, B.price, B.bidder, B.dateTime, B.extra FROM bid B JOIN highest H
        ON B.price = H.price AND epoch_ms(B.dateTime) BETWEEN H.number * 10000 AND H.number * 10000 + 10000""",
    "q8": """SELECT P.id, P.name, make_timestamp(P.number * 10000000)
        FROM (SELECT DISTINCT id, name, epoch_ms(dateTime) // 10000 AS number FROM person) P
        JOIN (SELECT DISTINCT seller, epoch_ms(dateTime) // 10000 AS number FROM auction) A
        ON P.id = A.seller AND P.number = A.number""",
    "q9": f"""SELECT A.id, B.price, B.dateTime FROM {_BIDS_IN_TIME}
        QUALIFY row_number() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime) = 1""",
    "q10": f"SELECT auction, bidder, price, dateTime, extra, {_DAY}, strftime(dateTime, '%H:%M') FROM bid",
    "q11": """WITH marked AS (
        SELECT bidder, dateTime, coalesce(dateTime - lag(dateTime) OVER w >= INTERVAL 10 SECOND, true) AS first
        FROM bid WINDOW w AS (PARTITION BY bidder ORDER BY dateTime)),
        numbered AS (SELECT *, sum(first::INT) OVER (PARTITION BY bidder ORDER BY dateTime) AS session FROM marked)
        SELECT bidder, count(*), min(dateTime), max(dateTime) + INTERVAL 10 SECOND FROM numbered GROUP BY bidder, session""",
    "q12": "SELECT bidder, count(*) FROM bid GROUP BY bidder",
    "q13": "SELECT auction, bidder, price, dateTime, side.value FROM bid JOIN side ON auction % 10000 = side.key",
    "q14": """SELECT auction, bidder, 0.908 * price, CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END, dateTime, extra,
        length(extra) - length(replace(extra, 'c', ''))
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"SELECT {_DAY}, {_RANKS}, {_DISTINCT} FROM bid GROUP BY 1",
    "q16": f"SELECT channel, {_DAY}, max(strftime(dateTime, '%H:%M')), {_RANKS}, {_DISTINCT} FROM bid GROUP BY 1, 2",
    "q17": f"""SELECT auction, {_DAY}, {_RANKS}, min(price), max(price), sum(price)::BIGINT // count(*), sum(price)
        FROM bid GROUP BY 1, 2""",
    "q18": "SELECT auction, bidder, max(dateTime) FROM bid GROUP BY 1, 2",
    "q19": """SELECT auction, price, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS n
        FROM bid QUALIFY n <= 10""",
    "q20": """SELECT B.*, A.itemName, A.description, A.initialBid, A.reserve, A.dateTime, A.expires, A.seller, A.category,
        A.extra FROM bid B JOIN auction A ON B.auction = A.id WHERE A.category = 10""",
    "q21": f"""SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
        WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE {_CHANNEL_ID} END
        FROM bid WHERE {_CHANNEL_ID} IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    "q22": """SELECT auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5),
        split_part(url, '/', 6) FROM bid""",
    "q23": """SELECT B.bidder, B.price, B.channel, B.url, B.extra, P.id, P.name, P.emailAddress, P.creditCard, P.city, P.state,
        P.extra, A.itemName, A.description, A.initialBid, A.reserve, A.dateTime, A.expires, A.seller, A.category, A.extra
        FROM bid B JOIN person P ON P.id = B.bidder JOIN auction A ON A.seller = B.bidder""",
}
_COMPARED = {"q9": (0, 12, 13), "q18": (0, 1, 5), "q19": (0, 2, 7)}  # columns of the result


class Expected:
    """The expected results for the first events."""

    def __init__(self, count: int) -> None:
        import duckdb
        import pyarrow as pa

        rows: dict[str, list[dict[str, Any]]] = {"person": [], "auction": [], "bid": []}
        for message in events.messages(count):
            event = json.loads(message)
            for kind, of_kind in rows.items():
                if event[kind] is not None:
                    of_kind.append(event[kind])
        self._bids = {tuple(str(value) for value in bid.values()) for bid in rows["bid"]}
        self._connection = duckdb.connect()
        self._connection.register("side", pa.Table.from_pylist([json.loads(row) for row in events.side_rows()]))
        for kind, of_kind in rows.items():
            self._connection.register(f"{kind}s", pa.Table.from_pylist(of_kind))
            times = ", ".join(f"CAST({t} AS TIMESTAMP) AS {t}" for t in ("dateTime", "expires") if t in of_kind[0])
            self._connection.execute(f"CREATE TABLE {kind} AS SELECT * REPLACE ({times}) FROM {kind}s")

    def differences(self, query: str, rows: list[list[str]]) -> int:
        """Returns the number of rows that are missing or too many in the result of a query."""
        expected = Counter(
            tuple(str(value) for value in row) for row in self._connection.execute(QUERIES[query]).fetchall()
        )
        if query == "q6":
            expected = self._comparable(query, [list(row) for row in expected.elements()])
        found = self._comparable(query, rows)
        if query == "q12":
            most = dict(expected.keys())
            return sum(int(times) > int(most.get(bidder, 0)) for bidder, times in found)
        return (expected - found).total() + (found - expected).total()

    def _comparable(self, query: str, rows: list[list[str]]) -> Counter[tuple[Any, ...]]:
        if query == "q12":
            sums: Counter[str] = Counter()
            for row in rows:
                sums[row[0]] += int(row[1])
            return Counter((bidder, str(times)) for bidder, times in sums.items())
        if query == "q6":
            ties = {str(seller) for (seller,) in self._connection.execute(_TIES).fetchall()}
            return Counter(tuple(row) for row in rows if row[0] not in ties)
        if query == "q18":
            rows = [row for row in rows if (*row[:5], _json_time(row[5]), row[6]) in self._bids]
        columns = _COMPARED.get(query)
        return Counter(tuple(row) if columns is None else tuple(row[c] for c in columns) for row in rows)


def _json_time(text: str) -> str:
    return text[:-3] if "." in text else f"{text}.000"
