import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.shadow.org.HdrHistogram.Histogram;
import org.agrona.concurrent.UnsafeBuffer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/** One end of a measured flow on the Java client, with the roles and lines of bench/compare/ends.py. */
public final class BenchEnds
{
    private static final int STREAM_ID = 2001;
    private static final int BACK_STREAM_ID = 2002;
    private static final int POLL_LIMIT = 256;
    private static final long DEADLINE_NS = 60_000_000_000L;

    private final int size;
    private final UnsafeBuffer message;
    private ExclusivePublication publication;
    private Subscription subscription;
    private long received;
    private long firstNs;

    private BenchEnds(final int size)
    {
        this.size = size;
        message = new UnsafeBuffer(ByteBuffer.allocateDirect(size));
    }

    public static void main(final String[] args) throws IOException
    {
        final String role = args[0];
        final BenchEnds ends = new BenchEnds(Integer.parseInt(args[3]));
        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(args[1])))
        {
            if (role.equals("publish") || role.equals("ping"))
            {
                ends.publication = aeron.addExclusivePublication(args[2], STREAM_ID);
            }
            else
            {
                ends.subscription = aeron.addSubscription(args[2], STREAM_ID);
            }
            if (role.equals("ping"))
            {
                ends.subscription = aeron.addSubscription(args[4], BACK_STREAM_ID);
            }
            else if (role.equals("pong"))
            {
                ends.publication = aeron.addExclusivePublication(args[4], BACK_STREAM_ID);
            }
            System.out.println("READY");
            ends.serve(role);
        }
    }

    private void serve(final String role) throws IOException
    {
        final BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = input.readLine(); line != null; line = input.readLine())
        {
            final String[] words = line.trim().split(" ");
            if (words[0].equals("connected"))
            {
                while (!publication.isConnected())
                {
                    Thread.onSpinWait();
                }
                System.out.println("CONNECTED");
            }
            else if (words[0].equals("paced"))
            {
                System.out.println(paced(Integer.parseInt(words[1]), Long.parseLong(words[2])));
            }
            else
            {
                System.out.println(round(role, Integer.parseInt(words[0])));
            }
        }
    }

    private long round(final String role, final int count)
    {
        switch (role)
        {
            case "publish":
                return publish(count);
            case "receive":
                return receive(count, (buffer, offset, length, header) -> take());
            case "ping":
                return ping(count);
            default:
                return receive(count, (buffer, offset, length, header) ->
                {
                    take();
                    while (refused(publication.offer(buffer, offset, length)))
                    {
                        Thread.onSpinWait();
                    }
                });
        }
    }

    private static boolean refused(final long position)
    {
        if (position == Publication.CLOSED || position == Publication.MAX_POSITION_EXCEEDED)
        {
            throw new IllegalStateException("the publication answered " + position);
        }
        return position < 0;
    }

    private void take()
    {
        if (received++ == 0)
        {
            firstNs = System.nanoTime();
        }
    }

    private long publish(final int count)
    {
        final long start = System.nanoTime();
        for (long number = 0; number < count; number++)
        {
            message.putLong(0, number);
            while (refused(publication.offer(message, 0, size)))
            {
                Thread.yield();
            }
        }
        return System.nanoTime() - start;
    }

    private long receive(final int count, final FragmentHandler handler)
    {
        received = 0;
        final long deadline = System.nanoTime() + DEADLINE_NS;
        int spins = 0;
        while (received < count)
        {
            if (subscription.poll(handler, POLL_LIMIT) == 0)
            {
                if (++spins % 64 == 0)
                {
                    Thread.yield();
                    check(deadline);
                }
                Thread.onSpinWait();
            }
        }
        return System.nanoTime() - firstNs;
    }

    private static void check(final long deadline)
    {
        if (System.nanoTime() > deadline)
        {
            throw new IllegalStateException("nothing came");
        }
    }

    private long ping(final int count)
    {
        final long[] times = new long[count];
        received = 0;
        final FragmentHandler handler = (buffer, offset, length, header) -> received++;
        final long deadline = System.nanoTime() + DEADLINE_NS;
        for (int number = 0; number < count; number++)
        {
            final long start = System.nanoTime();
            while (refused(publication.offer(message, 0, size)))
            {
                Thread.onSpinWait();
            }
            while (received <= number)
            {
                if (subscription.poll(handler, POLL_LIMIT) == 0)
                {
                    Thread.onSpinWait();
                    check(deadline);
                }
            }
            times[number] = System.nanoTime() - start;
        }
        Arrays.sort(times);
        return times[count / 2];
    }

    private String paced(final int count, final long intervalNs)
    {
        final Histogram histogram = new Histogram(1, 60_000_000_000L, 3);
        final long start = System.nanoTime() + intervalNs;
        final long deadline = start + count * intervalNs + DEADLINE_NS;
        received = 0;
        final FragmentHandler handler = (buffer, offset, length, header) ->
        {
            histogram.recordValue(Math.max(1, System.nanoTime() - start - received * intervalNs));
            received++;
        };
        long sent = 0;
        while (received < count)
        {
            if (sent < count && System.nanoTime() - start >= sent * intervalNs &&
                !refused(publication.offer(message, 0, size)))
            {
                sent++;
            }
            if (subscription.poll(handler, POLL_LIMIT) == 0)
            {
                check(deadline);
            }
        }
        final ByteBuffer encoded = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        final int length = histogram.encodeIntoCompressedByteBuffer(encoded);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(encoded.array(), length));
    }
}
