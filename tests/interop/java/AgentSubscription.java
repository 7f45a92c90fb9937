import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Subscription;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A subscription of the general client, with the messages that it has assembled. */
final class AgentSubscription
{
    private final Subscription subscription;
    private final FragmentAssembler assembler;
    private List<Object> got = new ArrayList<>();

    AgentSubscription(final Subscription subscription)
    {
        this.subscription = subscription;
        this.assembler = new FragmentAssembler((buffer, offset, length, header) ->
        {
            final byte[] payload = new byte[length];
            buffer.getBytes(offset, payload);
            got.add(List.of(header.sessionId(), header.position(), Json.hex(payload),
                header.reservedValue(), header.streamId()));
        });
    }

    Object verb(final String verb, final String[] args)
    {
        switch (verb)
        {
            case "receive":
                return receive(Integer.parseInt(args[1]), Long.parseLong(args[2]));
            case "look":
                return look();
            case "remove_destination":
                subscription.removeDestination(args[1]);
                return null;
            case "reject":
                subscription.imageBySessionId(Integer.parseInt(args[1])).reject(args[2]);
                return null;
            default:
                subscription.close();
                return null;
        }
    }

    long addDestination(final String uri)
    {
        return subscription.asyncAddDestination(uri);
    }

    private List<Object> receive(final int count, final long timeoutMs)
    {
        final long deadline = System.nanoTime() + timeoutMs * 1_000_000;
        while (got.size() < count && System.nanoTime() < deadline)
        {
            if (subscription.poll(assembler, Math.min(count - got.size(), 10)) == 0)
            {
                Json.pause();
            }
        }
        final List<Object> taken = got;
        got = new ArrayList<>();
        return taken;
    }

    private Map<String, Object> look()
    {
        final List<Object> images = new ArrayList<>();
        for (final Image image : subscription.images())
        {
            images.add(look(image));
        }
        final Map<String, Object> found = new HashMap<>();
        found.put("images", images);
        found.put("registration_id", subscription.registrationId());
        found.put("is_connected", subscription.isConnected());
        found.put("is_closed", subscription.isClosed());
        found.put("channel_status", subscription.channelStatus());
        found.put("addresses", subscription.localSocketAddresses());
        return found;
    }

    private static Map<String, Object> look(final Image image)
    {
        final Map<String, Object> found = new HashMap<>();
        found.put("session_id", image.sessionId());
        found.put("source_identity", image.sourceIdentity());
        found.put("correlation_id", image.correlationId());
        found.put("join_position", image.joinPosition());
        found.put("term_buffer_length", image.termBufferLength());
        found.put("mtu_length", image.mtuLength());
        found.put("initial_term_id", image.initialTermId());
        found.put("subscriber_position_id", image.subscriberPositionId());
        found.put("position", image.position());
        found.put("is_end_of_stream", image.isEndOfStream());
        found.put("end_of_stream_position", image.endOfStreamPosition());
        found.put("is_publication_revoked", image.isPublicationRevoked());
        found.put("active_transport_count", image.activeTransportCount());
        found.put("is_closed", image.isClosed());
        return found;
    }
}
