"""Options of Python dependencies, Spark and the job registry."""

from __future__ import annotations

from penstock.config.registry import define
from penstock.config.value_kinds import BOOLEAN, COMMA_LIST, LIST, PATH, STRING, integer

# -- dependencies

PYTHON_FILES = define(
    "python.files", COMMA_LIST, [], "Python modules, package folders and zip files that are shipped to executors."
)
PYTHON_REQUIREMENTS = define(
    "python.requirements",
    STRING,
    "",
    "A requirements file whose packages are installed where functions run. `file#folder` installs them from a folder of "
    "downloaded packages.",
)
PYTHON_ARCHIVES = define(
    "python.archives",
    COMMA_LIST,
    [],
    "Archives that are extracted into the working folder of functions. `archive#name` names the target folder.",
)
PYTHON_EXECUTABLE = define(
    "python.executable",
    STRING,
    "",
    "The Python interpreter that runs functions. Not set: the interpreter of the program.",
)
JARS = define("pipeline.jars", LIST, [], "Jar files for Spark.")
CLASSPATHS = define("pipeline.classpaths", LIST, [], "URLs of jar files that every node can read.")

# -- Spark

MASTER = define("spark.master", STRING, "local[*]", "The Spark master URL. It is used if no Spark session is active.")
RETAIN_BATCHES = define(
    "spark.batches-to-retain", integer(0), 100, "How many of the last batches remain readable in a checkpoint."
)
JVM_OPTIONS = define("spark.jvm-options", STRING, "", "Additional JVM options of the Spark driver.")
CLASS_ARCHIVE = define(
    "spark.class-archive",
    BOOLEAN,
    True,
    "Whether the JVM of a local master uses an archive of Spark's classes in the cache folder, with which it starts faster. The "
    "first JVM writes the archive when it ends.",
)
JAR_BUNDLES = define(
    "spark.jar-bundles",
    COMMA_LIST,
    [],
    "Jar bundles that a new Spark session loads, such as spark-kafka. `penstock jars` lists the names. Missing bundles are "
    "downloaded.",
)
CONSOLE = define(
    "spark.console",
    BOOLEAN,
    False,
    "Whether the output of Spark is written to the terminal. If false, it goes to the log file of the process.",
)

# -- the job registry

REGISTRY_DIR = define(
    "jobs.registry.dir",
    PATH,
    "",
    "Folder of the job registry and of logs. Not set: the state folder of the user, which is PENSTOCK_HOME, "
    "XDG_STATE_HOME/penstock or ~/.penstock.",
)
REGISTRY_KEEP = define("jobs.registry.keep", integer(0), 100, "Maximum number of finished jobs in the job registry.")
REGISTRY_KEEP_DAYS = define(
    "jobs.registry.keep-days",
    integer(0),
    30,
    "Jobs that finished more than this many days ago are removed from the job registry when another job starts.",
)
