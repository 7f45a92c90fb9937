import io.aeron.Aeron;
import io.aeron.Publication;
import org.agrona.concurrent.UnsafeBuffer;

import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;

/** The publisher of tests/interop/programs/flow.py on the Java client, with the same options and lines. */
public final class FlowPublisher
{
    private FlowPublisher()
    {
    }

    public static void main(final String[] args)
    {
        System.exit(run(Flow.options(args, 0), Flow.console()));
    }

    static int run(final Map<String, String> options, final Flow.Port port)
    {
        final AtomicReference<Throwable> broken = new AtomicReference<>();
        final Aeron.Context context = new Aeron.Context()
            .aeronDirectoryName(options.get("dir"))
            .driverTimeoutMs(Flow.number(options, "driver-timeout-ms", 5000))
            .errorHandler((error) -> broken.compareAndSet(null, error));
        try (Aeron aeron = Aeron.connect(context))
        {
            publish(aeron, options, port, broken);
            return 0;
        }
        catch (final Exception ex)
        {
            port.say("FAILED " + ex.getClass().getSimpleName() + ": " + ex.getMessage());
            return 3;
        }
    }

    private static void publish(
        final Aeron aeron,
        final Map<String, String> options,
        final Flow.Port port,
        final AtomicReference<Throwable> broken)
    {
        final Flow.Shape shape = new Flow.Shape(options);
        final int count = Flow.number(options, "count", 0);
        final int hold = Flow.number(options, "hold", -1);
        final int stream = Flow.number(options, "stream", 1001);
        final Publication publication = options.containsKey("exclusive") ?
            aeron.addExclusivePublication(options.get("channel"), stream) :
            aeron.addPublication(options.get("channel"), stream);
        port.say("READY session=" + publication.sessionId());

        final CRC32 crc = new CRC32();
        final UnsafeBuffer buffer = new UnsafeBuffer(0, 0);
        long total = 0;
        long end = 0;
        int index = 0;
        for (; count == 0 || index < count; index++)
        {
            if (index == hold)
            {
                port.say("HELD at=" + index);
                if (!await("go", port, broken))
                {
                    return;
                }
            }
            final byte[] payload = shape.payload(index);
            end = shape.end(index, end);
            buffer.wrap(payload);
            long position;
            while ((position = publication.offer(buffer, 0, payload.length)) < 0)
            {
                if (position == Publication.CLOSED || position == Publication.MAX_POSITION_EXCEEDED)
                {
                    check(broken);
                    throw new Flow.Wrong("offer answered " + position);
                }
                check(broken);
                if ("close".equals(port.heard()))
                {
                    return;
                }
                LockSupport.parkNanos(100_000);
            }
            if (position != end)
            {
                throw new Flow.Wrong("message " + index + " ended at position " + position + ", not " + end);
            }
            crc.update(payload);
            total += payload.length;
            if ((index + 1) % Flow.PROGRESS == 0)
            {
                port.say("AT " + (index + 1));
            }
        }
        port.say(String.format("SENT count=%d bytes=%d crc=%08x position=%d session=%d first=0",
            index, total, crc.getValue(), end, publication.sessionId()));
        await("close", port, broken);
    }

    /** Wait for the word; false when it was "close" instead. */
    private static boolean await(final String word, final Flow.Port port, final AtomicReference<Throwable> broken)
    {
        while (true)
        {
            final String heard = port.heard();
            if (heard.equals(word))
            {
                return true;
            }
            if (heard.equals("close"))
            {
                return false;
            }
            check(broken);
            LockSupport.parkNanos(200_000);
        }
    }

    static void check(final AtomicReference<Throwable> broken)
    {
        final Throwable error = broken.get();
        if (error != null)
        {
            throw new Flow.Wrong(error.getClass().getSimpleName() + ": " + error.getMessage());
        }
    }
}
