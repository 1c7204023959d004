package penstock.faults;

import java.io.FileInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Properties;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The local file system, failing on command. Commands are properties in the file that fs.failing.commands names, read at each
 * call; without the file nothing fails:
 *   under  paths below this folder are meant; others never fail
 *   only   a regular expression for the path, where not all of them are meant
 *   delay  milliseconds before each call
 *   hang   true: calls do not return while it is so
 *   write  what an IOException of create, rename, mkdirs and delete says
 *   after  bytes that a file takes before it fails so
 *   read   what an IOException of open, listStatus and getFileStatus says
 *
 * Janino compiles it, which comes with Spark: so nothing newer than Java 6, and no lambdas.
 */
public class FailingFileSystem extends LocalFileSystem {
    public FailingFileSystem() {
        super(new Raw());
    }

    static class Commands {
        private final Properties told = new Properties();

        Commands(String file) {
            if (file == null) {
                return;
            }
            try {
                InputStream in = new FileInputStream(file);
                try {
                    this.told.load(in);
                } finally {
                    in.close();
                }
            } catch (IOException none) {
                this.told.clear();
            }
        }

        boolean mean(Path path) {
            String name = path.toUri().getPath();
            String under = this.told.getProperty("under", "/nowhere");
            String only = this.told.getProperty("only");
            return name.startsWith(under) && (only == null || name.matches(only));
        }

        String get(String name) {
            return this.told.getProperty(name);
        }
    }

    static class Raw extends RawLocalFileSystem {
        Commands commands() {
            return new Commands(getConf().get("fs.failing.commands"));
        }

        /** What is commanded for a path; null when it is not meant. */
        Commands of(Path path) throws IOException {
            Commands now = commands();
            if (!now.mean(path)) {
                return null;
            }
            String delay = now.get("delay");
            if (delay != null) {
                pause(Long.parseLong(delay));
            }
            while (hangs(path)) {
                pause(50L);
            }
            Commands then = commands();
            if (then.mean(path)) {
                return then;
            }
            return null;
        }

        boolean hangs(Path path) {
            Commands now = commands();
            return now.mean(path) && "true".equals(now.get("hang"));
        }

        void pause(long millis) throws IOException {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException stopped) {
                throw new java.io.InterruptedIOException("interrupted");
            }
        }

        void mayRead(Path path) throws IOException {
            Commands commands = of(path);
            if (commands != null && commands.get("read") != null) {
                throw new IOException(commands.get("read") + ": " + path);
            }
        }

        void mayWrite(Path path) throws IOException {
            Commands commands = of(path);
            if (commands != null && commands.get("write") != null && commands.get("after") == null) {
                throw new IOException(commands.get("write") + ": " + path);
            }
        }

        FSDataOutputStream checked(FSDataOutputStream out, Path path) throws IOException {
            Commands commands = commands();
            if (!commands.mean(path) || commands.get("write") == null || commands.get("after") == null) {
                return out;
            }
            return new FSDataOutputStream(new Limited(out, commands, path), null);
        }

        public FSDataInputStream open(Path path, int buffer) throws IOException {
            mayRead(path);
            return super.open(path, buffer);
        }

        public FSDataOutputStream create(
                Path path, boolean overwrite, int buffer, short replication, long block, Progressable progress)
                throws IOException {
            mayWrite(path);
            return checked(super.create(path, overwrite, buffer, replication, block, progress), path);
        }

        public FSDataOutputStream create(
                Path path, FsPermission permission, boolean overwrite, int buffer, short replication, long block,
                Progressable progress)
                throws IOException {
            mayWrite(path);
            return checked(super.create(path, permission, overwrite, buffer, replication, block, progress), path);
        }

        public boolean rename(Path from, Path to) throws IOException {
            mayWrite(to);
            return super.rename(from, to);
        }

        public boolean delete(Path path, boolean recursive) throws IOException {
            mayWrite(path);
            return super.delete(path, recursive);
        }

        public boolean mkdirs(Path path) throws IOException {
            mayWrite(path);
            return super.mkdirs(path);
        }

        public FileStatus[] listStatus(Path path) throws IOException {
            mayRead(path);
            return super.listStatus(path);
        }

        public FileStatus getFileStatus(Path path) throws IOException {
            mayRead(path);
            return super.getFileStatus(path);
        }
    }

    static class Limited extends FilterOutputStream {
        private final Commands commands;
        private final Path path;
        private long left;

        Limited(OutputStream out, Commands commands, Path path) {
            super(out);
            this.commands = commands;
            this.path = path;
            this.left = Long.parseLong(commands.get("after"));
        }

        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        public void write(byte[] data, int from, int count) throws IOException {
            int room = (int) Math.min(this.left, (long) count);
            this.out.write(data, from, room);
            this.left = this.left - room;
            if (room < count) {
                throw new IOException(this.commands.get("write") + ": " + this.path);
            }
        }
    }
}
