import io.aeron.Aeron;
import io.aeron.FragmentAssembler;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;

import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** The subscriber of tests/interop/programs/flow.py on the Java client, with the same options and lines. */
public final class FlowSubscriber
{
    private static final int FRAGMENTS_PER_POLL = 64;

    private FlowSubscriber()
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
            subscribe(aeron, options, port, broken);
            return 0;
        }
        catch (final Exception ex)
        {
            port.say("FAILED " + ex.getClass().getSimpleName() + ": " + ex.getMessage());
            return 3;
        }
    }

    private static void subscribe(
        final Aeron aeron,
        final Map<String, String> options,
        final Flow.Port port,
        final AtomicReference<Throwable> broken)
    {
        final Flow.Shape shape = new Flow.Shape(options);
        final int until = Flow.number(options, "until", 0);
        final Map<Integer, Flow.Session> sessions = new TreeMap<>();
        final Queue<String> coming = new ConcurrentLinkedQueue<>();
        final Queue<Integer> going = new ConcurrentLinkedQueue<>();
        final FragmentHandler handler = new FragmentAssembler((buffer, offset, length, header) ->
        {
            final byte[] payload = new byte[length];
            buffer.getBytes(offset, payload);
            final Flow.Session session =
                sessions.computeIfAbsent(header.sessionId(), (id) -> new Flow.Session(shape, id));
            session.take(header.position(), payload);
            if (session.count() == until)
            {
                port.say("DONE " + session);
            }
            else if (session.count() % Flow.PROGRESS == 0)
            {
                port.say("AT " + session.count());
            }
        });
        final Subscription subscription = aeron.addSubscription(
            options.get("channel"),
            Flow.number(options, "stream", 1001),
            (image) -> coming.add("IMAGE session=" + image.sessionId()),
            (image) -> going.add(image.sessionId()));
        port.say("READY");

        String word = "";
        while (!word.equals("stop") && !word.equals("close"))
        {
            for (String line = coming.poll(); line != null; line = coming.poll())
            {
                port.say(line);
            }
            for (Integer id = going.poll(); id != null; id = going.poll())
            {
                final Flow.Session session = sessions.get(id);
                port.say("GONE " + (session == null ? "session=" + id : session));
            }
            // Aeron hands what a handler throws to the error handler, so it shows in the next check.
            if (subscription.poll(handler, FRAGMENTS_PER_POLL) == 0)
            {
                LockSupport.parkNanos(200_000);
            }
            FlowPublisher.check(broken);
            word = port.heard();
        }
        if (word.equals("stop"))
        {
            sessions.values().forEach((session) -> port.say("END " + session));
            port.say("STOPPED");
        }
    }
}
