import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.driver.ext.DebugReceiveChannelEndpoint;
import io.aeron.driver.ext.MultiGapLossGenerator;

import org.agrona.concurrent.AgentInvoker;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Runs many flow programs, and drivers, in one JVM, since starting one costs more than a flow.
 * <p>
 * Hears "start ID publish|subscribe|agent|driver OPTIONS..." and "ID line"; says "ID line", and "ID EXIT code" at a program's end.
 */
public final class FlowHost
{
    private static final Map<String, Flow.Port> PORTS = new ConcurrentHashMap<>();

    private FlowHost()
    {
    }

    public static void main(final String[] args)
    {
        System.out.println("READY");
        System.out.flush();
        Flow.listen(FlowHost::hear);
        System.exit(0);
    }

    private static void hear(final String line)
    {
        final String[] words = line.split(" ");
        if (words[0].equals("start"))
        {
            final String id = words[1];
            final Flow.Port port = new Flow.Port((text) -> say(id + " " + text));
            PORTS.put(id, port);
            final Map<String, String> options = Flow.options(words, 3);
            final Thread thread = new Thread(() -> say(id + " EXIT " + run(words[2], options, port)), id);
            thread.setDaemon(true);
            thread.start();
        }
        else if (words.length > 1)
        {
            PORTS.get(words[0]).tell(line.substring(words[0].length() + 1));
        }
    }

    private static synchronized void say(final String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    private static int run(final String role, final Map<String, String> options, final Flow.Port port)
    {
        switch (role)
        {
            case "publish":
                return FlowPublisher.run(options, port);
            case "subscribe":
                return FlowSubscriber.run(options, port);
            case "calls-publish":
                return CallsPeer.run(true, options, port);
            case "calls-subscribe":
                return CallsPeer.run(false, options, port);
            case "agent":
                return Agent.run(port);
            default:
                return drive(options, port);
        }
    }

    /** Gaps on purpose, as the property tests.loss.multi.gap says: term id, radix, length, how many. */
    private static void gaps(final MediaDriver.Context context)
    {
        final String given = System.getProperty("tests.loss.multi.gap");
        if (given != null)
        {
            final int[] numbers = Arrays.stream(given.split(",")).mapToInt(Integer::parseInt).toArray();
            context.receiveChannelEndpointSupplier((channel, dispatcher, status, ctx) ->
                new DebugReceiveChannelEndpoint(channel, dispatcher, status, ctx,
                    new MultiGapLossGenerator(numbers[0], numbers[1], numbers[2], numbers[3]),
                    (address, buffer, length) -> false));
        }
    }

    /** A media driver, set up by the system properties of this JVM, until told to close. */
    private static int drive(final Map<String, String> options, final Flow.Port port)
    {
        final MediaDriver.Context context = new MediaDriver.Context()
            .aeronDirectoryName(options.get("dir"))
            .terminationHook(() -> port.say("TERMINATED"))
            .threadingMode(ThreadingMode.valueOf(options.getOrDefault("threading", "SHARED")))
            .dirDeleteOnStart(true)
            .dirDeleteOnShutdown(true);
        gaps(context);
        try (MediaDriver driver = MediaDriver.launch(context))
        {
            port.say("READY dir=" + driver.aeronDirectoryName());
            final AgentInvoker invoker = driver.sharedAgentInvoker();
            while (!port.heard().equals("close"))
            {
                if (invoker == null)
                {
                    Thread.sleep(5);
                }
                else if (invoker.invoke() == 0)
                {
                    Thread.sleep(1);
                }
            }
            return 0;
        }
        catch (final Exception ex)
        {
            port.say("FAILED " + ex.getClass().getSimpleName() + ": " + ex.getMessage());
            return 3;
        }
    }
}
