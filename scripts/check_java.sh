#!/bin/sh
# Fails with a message that names the package to install if Java is missing or too old for Spark. Searches where Spark searches.
need=17
java=java
[ -n "${JAVA_HOME:-}" ] && java="$JAVA_HOME/bin/java"

fail() {
    echo "Penstock needs Java $need or newer ($1). Install a JDK, for example 'apt-get install openjdk-17-jre-headless' or 'brew install openjdk@17', or set JAVA_HOME to one." >&2
    exit 1
}

command -v "$java" >/dev/null 2>&1 || fail "'$java' was not found"
# The version line is like: openjdk version "17.0.15" 2025-04-15, or java version "1.8.0_392".
version=$("$java" -version 2>&1 | sed -n 's/.* version "\([^"]*\)".*/\1/p' | head -n 1)
major=${version%%[!0-9]*}
[ "$major" = 1 ] && major=$(echo "$version" | cut -d. -f2)
[ -n "$major" ] || fail "'$java -version' printed no version"
[ "$major" -ge "$need" ] || fail "'$java' is version $version"
