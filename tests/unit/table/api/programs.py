"""Small programs of the Table API. Their answers in answers.json are those of PyFlink: scripts/record_table_programs.py."""

from __future__ import annotations

from types import ModuleType
from typing import Any

ORDERS = [
    (1, "ann", 3.0, 2, "x"),
    (2, "bob", 5.5, 1, "y"),
    (3, "ann", 7.25, 4, "x"),
    (4, "cid", 1.0, 9, None),
    (5, "bob", 5.5, 3, "x"),
    (6, None, 2.5, 1, "z"),
]
PEOPLE = [(1, "ann", "Rome"), (2, "bob", "Oslo"), (3, "eve", "Bern")]
EVENTS = [
    "1,a,10,2024-01-01 00:00:01.000",
    "2,b,20,2024-01-01 00:00:04.000",
    "3,a,30,2024-01-01 00:00:11.000",
    "4,a,40,2024-01-01 00:00:12.000",
    "5,b,50,2024-01-01 00:00:25.000",
    "6,a,60,2024-01-01 00:00:26.000",
]

COLUMNS = {
    "select": "t.select(col('id'), col('name'))",
    "select attribute": "t.select(t.id, t.price)",
    "select star": "t.select(col('*'))",
    "select star and more": "t.select(col('*'), (col('id') + 1).alias('next'))",
    "select expression": "t.select(col('id') + 1, col('price') * 2, col('name').upper_case)",
    "select literal": "t.select(lit(1), lit('a').alias('b'), lit(2.5))",
    "select cast": "t.select(col('id').cast(DataTypes.BIGINT()), col('price').cast(DataTypes.STRING()).alias('p'))",
    "select cast of expression": "t.select((col('id') + 1).cast(DataTypes.STRING()))",
    "select twice": "t.select(col('id'), col('id'))",
    "select unknown": "t.select(col('nothing'))",
    "select with columns": "t.select(with_columns(range_('name', 'qty')))",
    "select with positions": "t.select(with_columns(range_(1, 2), col('tag')))",
    "select without columns": "t.select(without_columns(col('id'), col('tag')))",
    "select without range": "t.select(without_columns(range_('id', 'price')))",
    "alias": "t.alias('a', 'b', 'c', 'd', 'e')",
    "alias of some": "t.alias('a', 'b')",
    "alias too many": "t.alias('a', 'b', 'c', 'd', 'e', 'f')",
    "alias duplicate": "t.alias('a', 'a')",
    "alias existing": "t.alias('name')",
    "add columns": "t.add_columns((col('id') * 10).alias('ten'), concat(col('name'), '!').alias('loud'))",
    "add column without name": "t.add_columns(col('id') * 10)",
    "add column that exists": "t.add_columns((col('id') * 10).alias('name'))",
    "add aggregate": "t.add_columns(col('id').sum.alias('s'))",
    "add or replace": "t.add_or_replace_columns((col('id') * 10).alias('id'), lit('q').alias('new'))",
    "add or replace twice": "t.add_or_replace_columns((col('id') * 10).alias('n'), (col('id') * 20).alias('n'))",
    "rename": "t.rename_columns(col('id').alias('key'), col('tag').alias('label'))",
    "rename expression": "t.rename_columns((col('id') + 1).alias('key'))",
    "drop": "t.drop_columns(col('price'), col('qty'))",
    "drop range": "t.drop_columns(with_columns(range_('name', 'qty')))",
    "drop unknown": "t.drop_columns(col('nothing'))",
    "flatten": "t.select(row(col('id'), col('name')).alias('r')).select(col('r').flatten)",
    "field of row": "t.select(row(col('id'), col('name')).alias('r')).select(col('r').get(0), col('r').get('f1'))",
}
ROWS = {
    "filter": "t.filter(col('price') > 3)",
    "where": "t.where((col('price') > 3) & (col('name') == 'bob'))",
    "filter or": "t.filter((col('name') == 'ann') | (col('qty') >= 9)).select(col('id'))",
    "filter not": "t.filter(not_(col('name') == 'ann')).select(col('id'))",
    "filter null": "t.filter(col('name').is_null).select(col('id'))",
    "filter in": "t.filter(col('id').in_(1, 3, 5)).select(col('id'))",
    "filter in table": "t.filter(col('name').in_(u.select(col('uname')))).select(col('id'))",
    "filter between": "t.filter(col('id').between(2, 4)).select(col('id'))",
    "filter of no boolean": "t.filter(col('id') + 1)",
    "filter chained": "t.filter(col('id') > 1).filter(col('id') < 5).select(col('id'))",
    "distinct": "t.select(col('name')).distinct()",
    "distinct of two": "t.select(col('name'), col('tag')).distinct()",
    "fetch ordered": "t.order_by(col('price').desc, col('id')).fetch(2)",
    "offset and fetch": "t.order_by(col('id')).offset(2).fetch(3)",
    "limit": "t.order_by(col('id').desc).limit(2)",
    "limit with offset": "t.order_by(col('id').desc).limit(2, 1).select(col('id'))",
    "order by expression": "t.order_by((col('id') * -1)).fetch(2).select(col('id'), col('name'))",
    "order then select then fetch": "t.order_by(col('id').desc).fetch(3).select(col('name'))",
    "fetch with null": "t.order_by(col('tag')).fetch(5).select(col('id'))",
    "fetch with null, descending": "t.order_by(col('tag').desc).fetch(1).select(col('id'))",
    "order by offset": "t.order_by(col('id')).offset(4)",
    "fetch twice": "t.order_by(col('id')).fetch(2).fetch(1)",
    "negative fetch": "t.order_by(col('id')).fetch(-1)",
}
GROUPS = {
    "group": "t.group_by(col('name')).select(col('name'), col('price').sum.alias('s'))",
    "group without names": "t.group_by(col('name')).select(col('name'), col('price').sum, col('id').count)",
    "group same aggregate twice": "t.group_by(col('name')).select(col('price').sum, col('price').sum)",
    "group expression of aggregate": "t.group_by(col('name')).select(col('price').sum + 1, col('name'))",
    "group cast of aggregate": "t.group_by(col('name')).select(col('name'), col('id').sum.cast(DataTypes.STRING()))",
    "group two keys": "t.group_by(col('name'), col('tag')).select(col('tag'), col('name'), col('qty').max.alias('m'))",
    "group by expression": "t.group_by((col('id') % 2).alias('odd')).select(col('odd'), col('id').count.alias('n'))",
    "group key not selected": "t.group_by(col('name')).select(col('id').count.alias('n'))",
    "group key expression selected": "t.group_by(col('name')).select(col('name').upper_case.alias('u'), col('id').min)",
    "group alias hides column": (
        "t.group_by(col('name').substring(1, 1).alias('name')).select(col('name'), col('name').count.alias('n'))"
    ),
    "group column not grouped": "t.group_by(col('name')).select(col('id'))",
    "group without aggregates": "t.group_by(col('name')).select(col('name'))",
    "global aggregate": "t.select(col('price').sum, col('price').avg.alias('a'), col('id').count.alias('n'))",
    "global aggregate with literal": "t.select(col('price').max.alias('m'), lit(1).alias('one'))",
    "global aggregate and column": "t.select(col('price').max, col('id'))",
    "aggregate of no rows": "t.filter(col('id') > 99).select(col('id').count.alias('n'), col('id').sum.alias('s'))",
    "distinct aggregate": "t.select(col('name').count.distinct.alias('n'), col('qty').sum.distinct.alias('s'))",
    "more aggregates": (
        "t.group_by(col('tag')).select(col('tag'), col('id').min.alias('a'), col('id').max.alias('b'), "
        "col('price').stddev_pop.alias('c'), col('qty').sum0.alias('d'))"
    ),
    "first and last value": "t.select(col('id').first_value.alias('f'), col('id').last_value.alias('l'))",
    "having": "t.group_by(col('name')).select(col('name'), col('id').count.alias('n')).filter(col('n') > 1)",
    "group of group": (
        "t.group_by(col('name')).select(col('name'), col('id').count.alias('n'))"
        ".group_by(col('n')).select(col('n'), col('name').count.alias('m'))"
    ),
    "count star": "t.select(lit(1).count.alias('n'))",
    "window property without window": "t.select(col('id').start)",
}
TWO_TABLES = {
    "join": "t.join(u, col('name') == col('uname')).select(col('id'), col('city'))",
    "join then where": "t.join(u).where(col('name') == col('uname')).select(col('id'), col('uname'))",
    "join more conditions": "t.join(u, (col('name') == col('uname')) & (col('id') > col('uid'))).select(col('id'), col('uid'))",
    "join all columns": "t.join(u, col('name') == col('uname'))",
    "join same names": "t.join(t, lit(True))",
    "left outer join": "t.left_outer_join(u, col('name') == col('uname')).select(col('id'), col('city'))",
    "right outer join": "t.right_outer_join(u, col('name') == col('uname')).select(col('id'), col('uname'))",
    "full outer join": "t.full_outer_join(u, col('name') == col('uname')).select(col('id'), col('uname'))",
    "self join with alias": (
        "t.select(col('id').alias('a'), col('name').alias('x')).join("
        "t.select(col('id').alias('b'), col('name').alias('y')), col('x') == col('y')).select(col('a'), col('b'))"
    ),
    "join of aggregates": (
        "t.group_by(col('name')).select(col('name'), col('price').sum.alias('s'))"
        ".join(u, col('name') == col('uname')).select(col('city'), col('s'))"
    ),
    "union all": "t.select(col('name')).union_all(u.select(col('uname')))",
    "union": "t.select(col('name')).union(u.select(col('uname')))",
    "intersect": "t.select(col('name')).intersect(u.select(col('uname')))",
    "intersect all": "t.select(col('name')).intersect_all(t.select(col('name')).filter(col('name') == 'ann'))",
    "minus": "t.select(col('name')).minus(u.select(col('uname')))",
    "minus all": "t.select(col('name')).minus_all(u.select(col('uname')))",
    "union of other types": "t.select(col('id')).union_all(u.select(col('uname')))",
    "union of other widths": "t.select(col('id')).union_all(u.select(col('uid'), col('uname')))",
}
WINDOWS = {
    "tumble": (
        "e.window(Tumble.over(lit(10).seconds).on(col('ts')).alias('w')).group_by(col('w'), col('k'))"
        ".select(col('k'), col('w').start.alias('s'), col('w').end.alias('z'), col('v').sum.alias('v'))"
    ),
    "tumble without names": (
        "e.window(Tumble.over(lit(10).seconds).on(col('ts')).alias('w')).group_by(col('w'))"
        ".select(col('w').start, col('v').sum, col('w').rowtime)"
    ),
    "tumble in minutes": (
        "e.window(Tumble.over(lit(1).minutes).on(col('ts')).alias('w')).group_by(col('w')).select(col('id').count.alias('n'))"
    ),
    "slide": (
        "e.window(Slide.over(lit(20).seconds).every(lit(10).seconds).on(col('ts')).alias('w')).group_by(col('w'), col('k'))"
        ".select(col('k'), col('w').start.alias('s'), col('v').sum.alias('v'))"
    ),
    "session": (
        "e.window(Session.with_gap(lit(5).seconds).on(col('ts')).alias('w')).group_by(col('w'), col('k'))"
        ".select(col('k'), col('w').start.alias('s'), col('w').end.alias('z'), col('v').sum.alias('v'))"
    ),
    "window without its name": (
        "e.window(Tumble.over(lit(10).seconds).on(col('ts')).alias('w')).group_by(col('k')).select(col('k'))"
    ),
    "window on no time": (
        "e.window(Tumble.over(lit(10).seconds).on(col('v')).alias('w')).group_by(col('w')).select(col('v').sum)"
    ),
    "window rowtime again": (
        "e.window(Tumble.over(lit(5).seconds).on(col('ts')).alias('w')).group_by(col('w'), col('k'))"
        ".select(col('k'), col('w').rowtime.alias('rt'), col('v').sum.alias('v'))"
        ".window(Tumble.over(lit(20).seconds).on(col('rt')).alias('w2')).group_by(col('w2'))"
        ".select(col('w2').start.alias('s'), col('v').max.alias('m'))"
    ),
    "over unbounded range": (
        "e.over_window(Over.partition_by(col('k')).order_by(col('ts')).preceding(UNBOUNDED_RANGE).alias('w'))"
        ".select(col('id'), col('v').sum.over(col('w')).alias('s'))"
    ),
    "over default": (
        "e.over_window(Over.partition_by(col('k')).order_by(col('ts')).alias('w'))"
        ".select(col('id'), col('v').count.over(col('w')).alias('s'))"
    ),
    "over rows": (
        "e.over_window(Over.partition_by(col('k')).order_by(col('ts')).preceding(row_interval(1)).following(CURRENT_ROW)"
        ".alias('w')).select(col('id'), col('v').sum.over(col('w')), col('v').max.over(col('w')).alias('m'))"
    ),
    "over range": (
        "e.over_window(Over.order_by(col('ts')).preceding(lit(10).seconds).following(CURRENT_RANGE).alias('w'))"
        ".select(col('id'), col('v').sum.over(col('w')).alias('s') )"
    ),
    "over and expression": (
        "e.over_window(Over.partition_by(col('k')).order_by(col('ts')).preceding(UNBOUNDED_ROW).alias('w'))"
        ".select(col('id') + 1, col('v').sum.over(col('w')) + col('v'))"
    ),
    "order by time": "e.order_by(col('ts')).select(col('id'))",
    "interval join": (
        "e.select(col('id').alias('a'), col('ts').alias('t1')).join(e.select(col('id').alias('b'), col('ts').alias('t2')), "
        "(col('a') == col('b')) & (col('t1') >= col('t2') - lit(5).seconds) & (col('t1') < col('t2') + lit(5).seconds))"
        ".select(col('a'), col('b'))"
    ),
}
OTHERS = {
    "values of expressions": "env.from_elements([row(1, 'abc', 2.0), row(2, 'def', 3.0)])",
    "values of expressions with types": (
        "env.from_elements([row(1, 'abc', 2.0), row(2, 'def', 3.0)], DataTypes.ROW([DataTypes.FIELD('a', DataTypes.BIGINT()), "
        "DataTypes.FIELD('b', DataTypes.STRING()), DataTypes.FIELD('c', DataTypes.FLOAT())]))"
    ),
    "elements without schema": "env.from_elements([(1, 'Hi'), (2, 'Hello')])",
    "elements of one column": "env.from_elements([1, 2, 3], DataTypes.INT())",
    "sql over a table": "env.sql_query(f'SELECT name, COUNT(*) AS n FROM {t} GROUP BY name')",
    "view": "(env.create_temporary_view('v', t.filter(col('id') < 3)), env.from_path('v').select(col('id')))[1]",
    "view in sql": "(env.create_temporary_view('v2', t), env.sql_query('SELECT id FROM v2 WHERE id > 4'))[1]",
    "call": "t.select(call('UPPER', col('name')).alias('u'))",
    "call sql": "t.select(call_sql('id + 1').alias('n'), call_sql('UPPER(name)').alias('u'))",
    "if then else": "t.select(if_then_else(col('id') > 3, 'big', 'small').alias('s'))",
    "coalesce": "t.select(coalesce(col('name'), 'nobody').alias('n'))",
    "collect": "t.filter(col('id') < 3).group_by(col('tag')).select(col('tag'), col('id').collect.alias('c'))",
    "pandas": "env.from_pandas(pd.DataFrame({'a': [1, 2, 3], 'b': ['x', 'y', None]})).filter(col('a') > 1)",
    "pandas with names": "env.from_pandas(pd.DataFrame({'a': [1.5, 2.5]}), ['n']).select(col('n') + 1)",
    "from a table as sql": "env.from_path('orders_view').select(col('id'))",
}
BATCH = {
    "order by": "t.order_by(col('name').desc, col('id')).select(col('name'), col('id'))",
    "order by and offset": "t.order_by(col('id')).offset(4).select(col('id'))",
    "group in batch": "t.group_by(col('name')).select(col('name'), col('price').sum.alias('s'))",
    "join in batch": "t.join(u, col('name') == col('uname')).select(col('id'), col('city'))",
    "minus in batch": "t.select(col('name')).minus(u.select(col('uname')))",
    "order by with null": "t.order_by(col('tag'), col('id')).select(col('tag'), col('id'))",
    "order by with null, descending": "t.order_by(col('tag').desc, col('id')).select(col('tag'), col('id'))",
    "limit in batch": "t.order_by(col('id')).limit(2)",
    "tumble in batch": WINDOWS["tumble"],
    "over in batch": WINDOWS["over rows"],
    "window of a timestamp in batch": (
        "e.select(col('id'), col('v'), col('ts').cast(DataTypes.TIMESTAMP(3)).alias('ts'))"
        ".window(Tumble.over(lit(10).seconds).on(col('ts')).alias('w')).group_by(col('w'))"
        ".select(col('w').start.alias('s'), col('v').sum.alias('v'))"
    ),
}
STREAMING = {**COLUMNS, **ROWS, **GROUPS, **TWO_TABLES, **WINDOWS, **OTHERS}


def namespace(env: Any, table: ModuleType, expressions: ModuleType, window: ModuleType, events: str) -> dict[str, Any]:
    """Returns the names that programs use. `table` and the other modules are those of PyFlink or of Penstock."""
    import pandas as pd

    types = table.DataTypes
    orders = [("id", types.INT()), ("name", types.STRING()), ("price", types.DOUBLE()), ("qty", types.BIGINT())]
    orders.append(("tag", types.STRING()))
    people = [("uid", types.INT()), ("uname", types.STRING()), ("city", types.STRING())]
    env.execute_sql(
        "CREATE TEMPORARY TABLE events (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        f"WITH ('connector' = 'filesystem', 'path' = '{events}', 'format' = 'csv')"
    )
    found = {name: getattr(expressions, name) for name in dir(expressions) if not name.startswith("_")}
    found |= {name: getattr(window, name) for name in ("Tumble", "Slide", "Session", "Over")}
    t = env.from_elements(ORDERS, types.ROW([types.FIELD(name, type_) for name, type_ in orders]))
    env.create_temporary_view("orders_view", t)
    u = env.from_elements(PEOPLE, types.ROW([types.FIELD(name, type_) for name, type_ in people]))
    return {**found, "env": env, "DataTypes": types, "pd": pd, "t": t, "u": u, "e": env.from_path("events")}


def answer(text: str, names: dict[str, Any], streaming: bool = True) -> dict[str, Any]:
    """Runs a program. Returns the columns and the rows that are left of all changes, or that it fails."""
    table = eval(text, dict(names))
    schema = [line.strip().removesuffix(",") for line in str(table.get_resolved_schema()).splitlines()[1:-1]]
    left: list[list[str]] = []
    with table.execute().collect() as rows:
        for row in rows:
            values = [repr(value) for value in row]
            if str(row.get_row_kind()) in ("+I", "+U"):
                left.append(values)
            else:
                left.remove(values)
    ordered = ".order_by(" in text and not streaming
    return {"schema": schema, "rows": left if ordered else sorted(left)}
