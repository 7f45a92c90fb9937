import io.aeron.Aeron;
import io.aeron.Counter;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import org.agrona.concurrent.UnsafeBuffer;

import java.io.File;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A general client on the Java client: the verbs and answers of tests/interop/programs/agent.py, one line for one.
 */
final class Agent
{
    private final Map<String, Object> things = new HashMap<>();
    private final Map<Aeron, Queue<Object>> events = new HashMap<>();
    private final Map<Object, Aeron> owners = new HashMap<>();

    /** Serve one program's port until it is told to close. */
    static int run(final Flow.Port port)
    {
        final Agent agent = new Agent();
        port.say("READY");
        while (true)
        {
            final String line = port.next();
            if (line.equals("close"))
            {
                agent.end();
                return 0;
            }
            final String[] words = line.split(" ");
            final String[] args = new String[words.length - 1];
            for (int i = 0; i < args.length; i++)
            {
                args[i] = URLDecoder.decode(words[i + 1].substring(1), StandardCharsets.UTF_8);
            }
            port.say(agent.answer(words[0], args));
        }
    }

    private String answer(final String verb, final String[] args)
    {
        try
        {
            return "= " + Json.text(verb(verb, args));
        }
        catch (final Exception error)
        {
            return "! " + (error.getClass().getSimpleName() + ": " + error.getMessage()).replace('\n', ';');
        }
    }

    private void end()
    {
        for (final Aeron aeron : events.keySet())
        {
            aeron.close();
        }
    }

    private String keep(final Object thing, final Aeron owner)
    {
        owners.put(thing, owner);
        return keep(thing);
    }

    private String keep(final Object thing)
    {
        final String handle = "h" + things.size();
        things.put(handle, thing);
        return handle;
    }

    private Object verb(final String verb, final String[] args)
    {
        switch (verb)
        {
            case "connect":
                return connect(args[0], Long.parseLong(args[1]), args[2]);
            case "terminate":
                final byte[] token = Json.bytes(args[1]);
                return io.aeron.CommonContext.requestDriverTermination(
                    new File(args[0]), new UnsafeBuffer(token), 0, token.length);
            default:
                break;
        }
        final Object thing = things.get(args[0]);
        if (verb.equals("add_destination"))
        {
            return addDestination(thing, args[1]);
        }
        if (thing instanceof Aeron)
        {
            return ofClient((Aeron)thing, verb, args);
        }
        if (thing instanceof Publication)
        {
            return ofPublication((Publication)thing, verb, args);
        }
        if (thing instanceof Counter)
        {
            return ofCounter((Counter)thing, verb, args);
        }
        return ((AgentSubscription)thing).verb(verb, args);
    }

    private Object connect(final String directory, final long timeoutMs, final String name)
    {
        final Queue<Object> seen = new ConcurrentLinkedQueue<>();
        final Aeron aeron = Aeron.connect(new Aeron.Context()
            .aeronDirectoryName(directory)
            .driverTimeoutMs(timeoutMs)
            .clientName(name)
            .errorHandler((error) -> seen.add(List.of("error", 0, String.valueOf(error.getMessage()))))
            .publicationErrorFrameHandler((frame) -> seen.add(List.of(
                "publication error", frame.registrationId(), frame.errorCode(), frame.errorMessage())))
            .availableCounterHandler((counters, id, at) -> seen.add(List.of("counter", id, at)))
            .unavailableCounterHandler((counters, id, at) -> seen.add(List.of("counter gone", id, at)))
            .closeHandler(() -> seen.add(List.of("closed"))));
        events.put(aeron, seen);
        return List.of(keep(aeron), aeron.clientId());
    }

    private Object ofClient(final Aeron aeron, final String verb, final String[] args)
    {
        final Queue<Object> seen = events.get(aeron);
        switch (verb)
        {
            case "publication":
                final int stream = Integer.parseInt(args[3]);
                return keep(args[1].equals("exclusive") ?
                    exclusive(aeron, args[2], stream) : aeron.addPublication(args[2], stream), aeron);
            case "subscription":
                final Subscription subscription = aeron.addSubscription(
                    args[1],
                    Integer.parseInt(args[2]),
                    (image) -> seen.add(List.of("image", image.sessionId())),
                    (image) -> seen.add(
                        List.of("image gone", image.sessionId(), image.isPublicationRevoked())));
                return keep(new AgentSubscription(subscription), aeron);
            case "counter":
                return keep(counter(aeron, args));
            case "events":
                final List<Object> taken = new ArrayList<>();
                for (Object each = seen.poll(); each != null; each = seen.poll())
                {
                    taken.add(each);
                }
                return taken;
            case "counters":
                return counters(aeron);
            case "next_session_id":
                return aeron.nextSessionId(Integer.parseInt(args[1]));
            default:
                aeron.close();
                return null;
        }
    }

    /** Added asynchronously, so that this way is walked too. */
    private static Publication exclusive(final Aeron aeron, final String channel, final int stream)
    {
        final long id = aeron.asyncAddExclusivePublication(channel, stream);
        ExclusivePublication publication;
        while ((publication = aeron.getExclusivePublication(id)) == null)
        {
            Json.pause();
        }
        return publication;
    }

    private static Counter counter(final Aeron aeron, final String[] args)
    {
        final int type = Integer.parseInt(args[1]);
        final UnsafeBuffer label = new UnsafeBuffer(args[2].getBytes(StandardCharsets.US_ASCII));
        final UnsafeBuffer key = new UnsafeBuffer(Json.bytes(args[3]));
        if (args.length > 4)
        {
            return aeron.addStaticCounter(
                type, key, 0, key.capacity(), label, 0, label.capacity(), Long.parseLong(args[4]));
        }
        return aeron.addCounter(type, key, 0, key.capacity(), label, 0, label.capacity());
    }

    private static List<Object> counters(final Aeron aeron)
    {
        final List<Object> found = new ArrayList<>();
        aeron.countersReader().forEach((id, type, key, label) ->
        {
            final byte[] bytes = new byte[key.capacity()];
            key.getBytes(0, bytes);
            found.add(List.of(id, type, Json.hex(bytes), label, aeron.countersReader().getCounterValue(id)));
        });
        return found;
    }

    private static Object ofCounter(final Counter counter, final String verb, final String[] args)
    {
        switch (verb)
        {
            case "look":
                return Map.of("counter_id", counter.id(), "registration_id", counter.registrationId(),
                    "value", counter.get());
            case "set":
                counter.set(Long.parseLong(args[1]));
                return null;
            default:
                counter.close();
                return null;
        }
    }

    /** Only the asynchronous call tells the id that a destination is removed by. */
    private Object addDestination(final Object thing, final String uri)
    {
        final long id = thing instanceof Publication ?
            ((Publication)thing).asyncAddDestination(uri) : ((AgentSubscription)thing).addDestination(uri);
        while (owners.get(thing).isCommandActive(id))
        {
            Json.pause();
        }
        return id;
    }

    private static Object ofPublication(final Publication publication, final String verb, final String[] args)
    {
        switch (verb)
        {
            case "send":
                return send(publication, args);
            case "offer":
                final byte[] payload = Json.bytes(args[1]);
                return publication.offer(new UnsafeBuffer(payload), 0, payload.length);
            case "look":
                return look(publication);
            case "remove_destination":
                publication.removeDestination(args[1]);
                return null;
            case "remove_destination_by_id":
                publication.removeDestination(Long.parseLong(args[1]));
                return null;
            case "revoke":
                ((ExclusivePublication)publication).revoke();
                return null;
            default:
                publication.close();
                return null;
        }
    }

    private static List<Object> send(final Publication publication, final String[] args)
    {
        final long deadline = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000;
        final List<Object> positions = new ArrayList<>();
        for (final String text : args[2].split(",", -1))
        {
            final byte[] payload = Json.bytes(text);
            final UnsafeBuffer buffer = new UnsafeBuffer(payload);
            final long reserved = args.length > 3 ? Long.parseLong(args[3]) : 0;
            long position;
            while ((position = publication.offer(
                buffer, 0, payload.length, args.length > 3 ? (b, offset, length) -> reserved : null)) < 0)
            {
                if (position <= Publication.CLOSED || System.nanoTime() > deadline)
                {
                    throw new IllegalStateException("offer answered " + position);
                }
                Json.pause();
            }
            positions.add(position);
        }
        return positions;
    }

    private static Map<String, Object> look(final Publication publication)
    {
        final Map<String, Object> found = new HashMap<>();
        found.put("session_id", publication.sessionId());
        found.put("stream_id", publication.streamId());
        found.put("registration_id", publication.registrationId());
        found.put("original_registration_id", publication.originalRegistrationId());
        found.put("initial_term_id", publication.initialTermId());
        found.put("term_buffer_length", publication.termBufferLength());
        found.put("max_message_length", publication.maxMessageLength());
        found.put("max_payload_length", publication.maxPayloadLength());
        found.put("max_possible_position", publication.maxPossiblePosition());
        found.put("position_bits_to_shift", publication.positionBitsToShift());
        found.put("position_limit_id", publication.positionLimitId());
        found.put("channel_status_id", publication.channelStatusId());
        found.put("position", publication.position());
        found.put("position_limit", publication.positionLimit());
        found.put("is_connected", publication.isConnected());
        found.put("is_closed", publication.isClosed());
        found.put("channel_status", publication.channelStatus());
        found.put("addresses", publication.localSocketAddresses());
        return found;
    }
}
