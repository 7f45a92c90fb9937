import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.zip.CRC32;

/** What the flow programs share: the messages, where they end in the stream, and the lines in and out. */
final class Flow
{
    static final int HEADER_LENGTH = 32;
    static final int PROGRESS = 64;

    private Flow()
    {
    }

    /** A message, a position or an order that is not what it must be. */
    static final class Wrong extends RuntimeException
    {
        private static final long serialVersionUID = 1L;

        Wrong(final String text)
        {
            super(text);
        }
    }

    /** Where lines go to and come from: the console, or one program among several in a host. */
    static final class Port
    {
        private final Consumer<String> out;
        private final LinkedBlockingQueue<String> in = new LinkedBlockingQueue<>();

        Port(final Consumer<String> out)
        {
            this.out = out;
        }

        void say(final String line)
        {
            out.accept(line);
        }

        void tell(final String line)
        {
            in.add(line);
        }

        /** The next line, or an empty one when there is none yet. */
        String heard()
        {
            final String line = in.poll();
            return line == null ? "" : line;
        }

        /** The next line, waited for. */
        String next()
        {
            try
            {
                return in.take();
            }
            catch (final InterruptedException ex)
            {
                return "close";
            }
        }
    }

    /** A port on the console of this process. */
    static Port console()
    {
        final PrintStream stream = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        final Port port = new Port((line) ->
        {
            synchronized (stream)
            {
                stream.println(line);
                stream.flush();
            }
        });
        final Thread ear = new Thread(() -> listen(port::tell), "ear");
        ear.setDaemon(true);
        ear.start();
        return port;
    }

    /** Pass every line of the standard input on, then "close". */
    static void listen(final Consumer<String> to)
    {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)))
        {
            for (String line = reader.readLine(); line != null; line = reader.readLine())
            {
                to.accept(line.trim());
            }
        }
        catch (final java.io.IOException ignore)
        {
            // the same as the end
        }
        to.accept("close");
    }

    /** Options in the form "--name value", and "--exclusive" alone. */
    static Map<String, String> options(final String[] args, final int from)
    {
        final Map<String, String> options = new HashMap<>();
        for (int i = from; i < args.length; i++)
        {
            final String name = args[i].substring(2);
            options.put(name, "exclusive".equals(name) ? "true" : args[++i]);
        }
        return options;
    }

    static int number(final Map<String, String> options, final String name, final int otherwise)
    {
        return Integer.parseInt(options.getOrDefault(name, Integer.toString(otherwise)));
    }

    /** The messages of one stream that starts at position 0. */
    static final class Shape
    {
        final int seed;
        final int mtu;
        final int term;
        private final int[] sizes;

        Shape(final Map<String, String> options)
        {
            seed = number(options, "seed", 11);
            mtu = number(options, "mtu", 1408);
            term = number(options, "term", 64 * 1024);
            final int one = mtu - HEADER_LENGTH;
            sizes = new int[]{ 0, 1, 31, 32, 33, one, one + 1, 3 * one, 3 * one + 17, term / 8 };
        }

        int size(final int index)
        {
            return sizes[index % sizes.length];
        }

        byte[] payload(final int index)
        {
            final byte[] bytes = new byte[size(index)];
            for (int j = 0; j < bytes.length; j++)
            {
                bytes[j] = (byte)(seed + 31 * index + 7 * j);
            }
            return bytes;
        }

        /** Where the message at index ends, given where the one before ended. */
        long end(final int index, final long before)
        {
            final int one = mtu - HEADER_LENGTH;
            final int size = size(index);
            final int rest = size % one;
            final int required = size <= one ?
                aligned(size) : size / one * mtu + (rest > 0 ? aligned(rest) : 0);
            final long left = term - before % term;
            return before + required + (required > left ? left : 0);
        }

        private static int aligned(final int payload)
        {
            return (payload + HEADER_LENGTH + 31) & ~31;
        }
    }

    /** One image's messages, checked as they come. */
    static final class Session
    {
        private final Shape shape;
        private final int id;
        private final CRC32 crc = new CRC32();
        private int next;
        private int first = -1;
        private long position;
        private long total;

        Session(final Shape shape, final int id)
        {
            this.shape = shape;
            this.id = id;
        }

        void take(final long at, final byte[] payload)
        {
            int skipped = 0;
            long end = shape.end(next, position);
            while (end < at)
            {
                skipped++;
                next++;
                end = shape.end(next, end);
            }
            if (end != at)
            {
                throw new Wrong("session " + id + ": position " + at + " is not the end of a message");
            }
            if (first < 0)
            {
                first = next;
            }
            else if (skipped > 0)
            {
                throw new Wrong("session " + id + ": " + skipped + " messages missing before position " + at);
            }
            if (!java.util.Arrays.equals(payload, shape.payload(next)))
            {
                throw new Wrong("session " + id + ": message " + next + " of " + payload.length + " bytes differs");
            }
            crc.update(payload);
            total += payload.length;
            position = at;
            next++;
        }

        int count()
        {
            return next - Math.max(first, 0);
        }

        public String toString()
        {
            return String.format("session=%d first=%d count=%d bytes=%d crc=%08x position=%d",
                id, first, count(), total, crc.getValue(), position);
        }
    }
}
