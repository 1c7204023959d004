"""Answers of Flink 2.3.0 to MATCH_RECOGNIZE over one table, in the order in which Flink emitted them."""

from __future__ import annotations

# fmt: off
# symbol, price, tax, and the second of the time
TICKER: list[tuple[str, int, int, int]] = [
    ("A", 12, 1, 0), ("A", 17, 2, 1), ("A", 19, 1, 2), ("A", 21, 3, 3), ("A", 25, 2, 4), ("A", 18, 1, 5),
    ("A", 15, 1, 6), ("A", 14, 2, 7), ("B", 9, 5, 8), ("A", 24, 2, 9), ("B", 7, 4, 10), ("A", 25, 2, 11),
    ("B", 8, 1, 12), ("A", 19, 1, 13), ("B", 8, 2, 14), ("B", 11, 3, 15), ("A", 30, 9, 25), ("B", 2, 1, 26),
    ("A", 29, 1, 27),
]

# what is inside of MATCH_RECOGNIZE (...), and the rows as text
ANSWERS: list[tuple[str, list[list[str | None]]]] = [
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH PATTERN (A B) "
        "DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "17", "19"], ["A", "19", "21"], ["A", "21", "25"], ["A", "14", "24"],
            ["A", "24", "25"], ["B", "7", "8"], ["B", "8", "11"], ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "19", "21"], ["A", "14", "24"], ["B", "7", "8"], ["B", "8", "11"],
            ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts, price DESC MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "19", "21"], ["A", "14", "24"], ["B", "7", "8"], ["B", "8", "11"],
            ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, LAST(B.price) AS bp, COUNT(B.price) AS n ONE ROW "
        "PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+?) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17", "1"], ["A", "19", "21", "1"], ["A", "14", "24", "1"], ["B", "7", "8", "1"],
            ["B", "8", "11", "1"], ["A", "19", "30", "1"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B{2}) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "19"], ["A", "14", "25"], ["B", "7", "8"], ["A", "19", "29"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, LAST(B.price) AS bp, COUNT(B.price) AS n ONE ROW "
        "PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{2,3}?) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "19", "2"], ["A", "14", "25", "2"], ["B", "7", "8", "2"], ["A", "19", "29", "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A (B C)) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "21", "25"], ["A", "14", "24"], ["B", "7", "8"], ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, B.price AS b, C.price AS c ONE ROW PER MATCH "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B? C) DEFINE B AS B.price > A.price, C AS C.price > B.price",
        [
            ["A", "12", "17", "19"], ["A", "14", "24", "25"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "TO LAST B PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "17", "19"], ["A", "19", "21"], ["A", "21", "25"], ["A", "14", "24"],
            ["A", "24", "25"], ["B", "7", "8"], ["B", "8", "11"], ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "TO B PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "17", "19"], ["A", "19", "21"], ["A", "21", "25"], ["A", "14", "24"],
            ["A", "24", "25"], ["B", "7", "8"], ["B", "8", "11"], ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B) DEFINE D AS D.price > 1",
        [
            ["A", "12", "17"], ["A", "19", "21"], ["A", "25", "18"], ["A", "15", "14"], ["B", "9", "7"],
            ["A", "24", "25"], ["B", "8", "8"], ["A", "19", "30"], ["B", "11", "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES price AS x, tax + 1 AS y, symbol AS s ONE ROW PER MATCH AFTER "
        "MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "17", "3", "A"], ["A", "21", "4", "A"], ["A", "24", "3", "A"], ["B", "8", "2", "B"],
            ["B", "11", "4", "B"], ["A", "30", "10", "A"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES FIRST(price) AS x, LAST(price, 1) AS y, FIRST(A.price, 1) AS z, "
        "SUM(price) AS s, COUNT(*) AS c, COUNT(tax) AS ct ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "12", "12", None, "29", "2", "2"], ["A", "19", "19", None, "40", "2", "2"],
            ["A", "14", "14", None, "38", "2", "2"], ["B", "7", "7", None, "15", "2", "2"],
            ["B", "8", "8", None, "19", "2", "2"], ["A", "19", "19", None, "49", "2", "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES LAST(A.price * A.tax) AS x, SUM(A.price * 2) AS y, SUM(A.price) "
        "+ COUNT(B.tax) AS z ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.price > "
        "A.price",
        [
            ["A", "12", "24", "13"], ["A", "19", "38", "20"], ["A", "28", "28", "15"], ["B", "28", "14", "8"],
            ["B", "16", "16", "9"], ["A", "19", "38", "20"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES FINAL LAST(A.price) AS x ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "12"], ["A", "19"], ["A", "14"], ["B", "7"], ["B", "8"], ["A", "19"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES MATCH_ROWTIME(ts) AS rt ONE ROW PER MATCH AFTER MATCH SKIP PAST "
        "LAST ROW PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "2024-01-01 10:00:01"], ["A", "2024-01-01 10:00:03"], ["A", "2024-01-01 10:00:09"],
            ["B", "2024-01-01 10:00:12"], ["B", "2024-01-01 10:00:15"], ["A", "2024-01-01 10:00:25"],
        ],
    ),
    (
        "ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["12", "17"], ["19", "21"], ["9", "24"], ["7", "25"], ["8", "19"], ["8", "11"], ["2", "29"],
        ],
    ),
    (
        "PARTITION BY symbol, tax ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH "
        "SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.price > A.price",
        [
            ["A", "1", "12", "19"], ["A", "2", "17", "25"], ["A", "2", "14", "24"], ["A", "1", "15", "19"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B) WITHIN INTERVAL '1.500' SECOND DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "19", "21"], ["B", "8", "11"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B) WITHIN INTERVAL '1' SECOND DEFINE B AS B.price > A.price",
        [],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS ap, B.price AS bp ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B) WITHIN INTERVAL '2' SECOND DEFINE B AS B.price > A.price",
        [
            ["A", "12", "17"], ["A", "19", "21"], ["B", "8", "11"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES FIRST(A.price) AS f, LAST(A.price) AS l, B.price AS b, "
        "COUNT(A.price) AS n ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS A.price "
        "> LAST(A.price, 1) OR LAST(A.price, 1) IS NULL, B AS B.price < LAST(A.price)",
        [
            ["A", "12", "25", "18", "5"], ["A", "15", "15", "14", "1"], ["B", "9", "9", "7", "1"],
            ["A", "24", "25", "19", "2"], ["B", "8", "11", "2", "2"], ["A", "30", "30", "29", "1"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES FIRST(A.price) AS f, LAST(A.price) AS l, B.price AS b, "
        "COUNT(A.price) AS n ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) DEFINE A AS A.price > "
        "LAST(A.price, 1) OR LAST(A.price, 1) IS NULL, B AS B.price < LAST(A.price)",
        [
            ["A", "12", "25", "18", "5"], ["A", "17", "25", "18", "4"], ["A", "19", "25", "18", "3"],
            ["A", "21", "25", "18", "2"], ["A", "25", "25", "18", "1"], ["A", "18", "18", "15", "1"],
            ["A", "15", "15", "14", "1"], ["B", "9", "9", "7", "1"], ["A", "14", "25", "19", "3"],
            ["A", "24", "25", "19", "2"], ["A", "25", "25", "19", "1"], ["B", "8", "11", "2", "2"],
            ["B", "11", "11", "2", "1"], ["A", "19", "30", "29", "2"], ["A", "30", "30", "29", "1"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES FIRST(A.price) AS f, LAST(A.price) AS l, B.price AS b, "
        "COUNT(A.price) AS n ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A+? B) DEFINE A AS A.price > "
        "10",
        [
            ["A", "12", "12", "17", "1"], ["A", "17", "17", "19", "1"], ["A", "19", "19", "21", "1"],
            ["A", "21", "21", "25", "1"], ["A", "25", "25", "18", "1"], ["A", "18", "18", "15", "1"],
            ["A", "15", "15", "14", "1"], ["A", "14", "14", "24", "1"], ["A", "24", "24", "25", "1"],
            ["A", "25", "25", "19", "1"], ["A", "19", "19", "30", "1"], ["B", "11", "11", "2", "1"],
            ["A", "30", "30", "29", "1"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES FIRST(A.price) AS f, LAST(A.price) AS l, B.price AS b, "
        "COUNT(A.price) AS n ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) DEFINE A AS A.price > "
        "10",
        [
            ["B", "11", "11", "2", "1"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) DEFINE B AS B.price > 15, C AS C.price < 16",
        [
            ["A", "12", "5", "15"], ["B", "9", "0", "7"], ["B", "8", "0", "8"], ["B", "11", "0", "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B*? C) DEFINE B AS B.price > 15, C AS C.price > 16",
        [
            ["A", "12", "0", "17"], ["A", "19", "0", "21"], ["A", "25", "0", "18"], ["A", "14", "0", "24"],
            ["A", "25", "0", "19"], ["A", "30", "0", "29"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{1,2} C) DEFINE B AS B.price > 15, C AS C.price > 16",
        [],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{0,2} C) DEFINE B AS B.price > 15, C AS C.price > 16",
        [],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{2,} C) DEFINE B AS B.price > 15, C AS C.price > 16",
        [],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES SUM(A.price) AS s, B.price AS b ONE ROW PER MATCH AFTER MATCH "
        "SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS SUM(A.price) < 60",
        [
            ["A", "48", "21"], ["A", "58", "14"], ["A", "49", "19"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES SUM(A.price) AS s, B.price AS b ONE ROW PER MATCH AFTER MATCH "
        "SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS SUM(price) < 60",
        [
            ["A", "48", "21"], ["A", "58", "14"], ["A", "49", "19"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES COUNT(A.tax) AS a, COUNT(B.tax) AS b, C.price AS c, SUM(price) "
        "AS s ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B+ C) DEFINE A AS price < 18, B AS "
        "COUNT(price) < 4 AND price > FIRST(A.price), C AS SUM(price) > 50",
        [
            ["A", "2", "1", "21", "69"], ["A", "2", "1", "25", "78"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES COUNT(A.price) AS s, B.price AS b ONE ROW PER MATCH AFTER MATCH "
        "SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS price > 10 AND LAST(price, 1) IS NULL",
        [
            ["A", "1", "17"], ["A", "1", "21"], ["A", "1", "18"], ["A", "1", "14"], ["A", "1", "25"],
            ["A", "1", "30"], ["B", "1", "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS s, B.price AS b ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B) DEFINE B AS LAST(price, 1) < price",
        [
            ["A", "12", "17"], ["A", "19", "21"], ["A", "14", "24"], ["B", "7", "8"], ["B", "8", "11"],
            ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS s, B.price AS b ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B) DEFINE B AS FIRST(price) < price",
        [
            ["A", "12", "17"], ["A", "19", "21"], ["A", "14", "24"], ["B", "7", "8"], ["B", "8", "11"],
            ["A", "19", "30"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, C.price AS c, UPPER(A.symbol) AS u, CASE WHEN "
        "B.price > 20 THEN 'hi' ELSE 'lo' END AS h, 1 AS o ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A C? B) DEFINE B AS B.price > A.price",
        [
            ["A", "12", None, "A", "lo", "1"], ["A", "19", None, "A", "hi", "1"], ["A", "15", "14", "A", "hi", "1"],
            ["B", "7", None, "B", "lo", "1"], ["B", "8", None, "B", "lo", "1"], ["A", "25", "19", "A", "hi", "1"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{1,2}? C) DEFINE B AS B.price > 15, C AS C.price > 16",
        [
            ["A", "12", "1", "19"], ["A", "17", "1", "21"], ["A", "19", "1", "25"], ["A", "21", "1", "18"],
            ["A", "14", "1", "25"], ["A", "24", "1", "19"], ["A", "25", "1", "30"], ["A", "19", "1", "29"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{1,3} C) DEFINE B AS B.price > 15, C AS C.price < 20",
        [
            ["A", "19", "3", "15"], ["A", "21", "2", "15"], ["A", "25", "1", "15"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{0,2} C) DEFINE B AS B.price > 15, C AS C.price < 20",
        [
            ["A", "21", "2", "15"], ["A", "25", "1", "15"], ["A", "18", "0", "15"], ["A", "15", "0", "14"],
            ["B", "9", "0", "7"], ["B", "7", "0", "8"], ["B", "8", "0", "8"], ["B", "8", "0", "11"],
            ["B", "11", "0", "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c ONE ROW PER "
        "MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{2,} C) DEFINE B AS B.price > 15, C AS C.price < 16",
        [
            ["A", "12", "5", "15"], ["A", "17", "4", "15"], ["A", "19", "3", "15"], ["A", "21", "2", "15"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, B.price AS b ONE ROW PER MATCH AFTER MATCH SKIP "
        "TO NEXT ROW PATTERN (A? B) DEFINE A AS A.price > 15, B AS B.price < 20",
        [
            ["A", None, "12"], ["A", None, "17"], ["A", None, "19"], ["A", "25", "18"], ["A", None, "18"],
            ["A", None, "15"], ["A", None, "14"], ["B", None, "9"], ["B", None, "7"], ["B", None, "8"],
            ["A", "25", "19"], ["A", None, "19"], ["B", None, "8"], ["B", None, "11"], ["B", None, "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES COUNT(A.price) AS a, B.price AS b ONE ROW PER MATCH AFTER MATCH "
        "SKIP PAST LAST ROW PATTERN (A* B) DEFINE A AS A.price > 15, B AS B.price < 20",
        [
            ["A", "0", "12"], ["A", "5", "15"], ["A", "0", "14"], ["B", "0", "9"], ["B", "0", "7"], ["B", "0", "8"],
            ["B", "0", "8"], ["B", "0", "11"], ["B", "0", "2"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, B.price AS b ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A B?) DEFINE A AS A.price > 15, B AS B.price < 20",
        [
            ["A", "17", None], ["A", "19", None], ["A", "21", None], ["A", "25", None], ["A", "18", None],
            ["A", "24", None], ["A", "25", None], ["A", "19", None], ["A", "30", None], ["A", "29", None],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES COUNT(A.price) AS a, COUNT(B.price) AS b, C.price AS c, "
        "FIRST(price) AS fp, LAST(price, 2) AS l2 ONE ROW PER MATCH AFTER MATCH SKIP TO FIRST B PATTERN (A+ B+ C) "
        "DEFINE A AS A.price < 20, B AS B.price > LAST(A.price), C AS C.price < LAST(B.price)",
        [
            ["A", "3", "2", "18", "12", "21"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES COUNT(A.price) AS a, COUNT(B.price) AS b, C.price AS c ONE ROW "
        "PER MATCH AFTER MATCH SKIP TO LAST B PATTERN (A+ B+ C) DEFINE A AS A.price < 20, B AS B.price > "
        "LAST(A.price), C AS C.price < LAST(B.price)",
        [
            ["A", "3", "2", "18"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS b, C.price AS c, "
        "MATCH_ROWTIME() AS rt ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) WITHIN INTERVAL "
        "'5' SECOND DEFINE B AS B.price > 10, C AS C.tax = 1",
        [
            ["B", "7", "0", "8", "2024-01-01 10:00:12"],
        ],
    ),
    (
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, COUNT(B.price) AS b, C.price AS c, "
        "MATCH_ROWTIME() AS rt ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*? C) WITHIN INTERVAL "
        "'5' SECOND DEFINE B AS B.price > 10, C AS C.tax = 1",
        [
            ["A", "12", "1", "19", "2024-01-01 10:00:02"], ["A", "17", "0", "19", "2024-01-01 10:00:02"],
            ["A", "19", "2", "18", "2024-01-01 10:00:05"], ["A", "21", "1", "18", "2024-01-01 10:00:05"],
            ["A", "25", "0", "18", "2024-01-01 10:00:05"], ["A", "18", "0", "15", "2024-01-01 10:00:06"],
            ["B", "7", "0", "8", "2024-01-01 10:00:12"], ["A", "24", "1", "19", "2024-01-01 10:00:13"],
            ["A", "25", "0", "19", "2024-01-01 10:00:13"], ["A", "30", "0", "29", "2024-01-01 10:00:27"],
        ],
    ),
    (
        "ORDER BY ts MEASURES COUNT(A.price) AS a, B.price AS b, SUM(tax) AS t ONE ROW PER MATCH AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (A+ B) DEFINE A AS A.price > 1, B AS B.tax > 4",
        [],
    ),
]
