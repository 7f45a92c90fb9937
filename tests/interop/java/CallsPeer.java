import io.aeron.Aeron;
import io.aeron.DirectBufferVector;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.ReservedValueSupplier;
import io.aeron.Subscription;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.ControlledFragmentHandler.Action;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.UnsafeBuffer;

import java.nio.ByteOrder;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.zip.CRC32;

/** A publisher that sends in every way it is told, and a subscriber that tells every fragment: see tests/interop/calls.py. */
public final class CallsPeer
{
    private static final ReservedValueSupplier SUPPLIER =
        (termBuffer, termOffset, frameLength) -> termOffset * 1_000_003L + frameLength;

    private CallsPeer()
    {
    }

    static int run(final boolean publishes, final Map<String, String> options, final Flow.Port port)
    {
        final Aeron.Context context = new Aeron.Context().aeronDirectoryName(options.get("dir"));
        final String channel = options.get("channel");
        final int stream = Flow.number(options, "stream", 1001);
        try (Aeron aeron = Aeron.connect(context))
        {
            if (publishes)
            {
                publish(aeron.addExclusivePublication(channel, stream), port);
            }
            else
            {
                subscribe(aeron, channel, stream, port);
            }
            return 0;
        }
        catch (final Exception ex)
        {
            port.say("FAILED " + ex.getClass().getSimpleName() + ": " + ex.getMessage());
            return 3;
        }
    }

    private static String[] next(final Flow.Port port)
    {
        return port.heard().split(":");
    }

    private static void publish(final ExclusivePublication publication, final Flow.Port port)
    {
        port.say("READY session=" + publication.sessionId());
        for (String[] words = next(port); !words[0].equals("close"); words = next(port))
        {
            if (words[0].isEmpty())
            {
                LockSupport.parkNanos(200_000);
            }
            else if (words[0].equals("revoke"))
            {
                publication.revoke();
                port.say("DONE position=0");
            }
            else
            {
                port.say("DONE position=" + send(publication, words));
            }
        }
    }

    private static UnsafeBuffer pattern(final int length)
    {
        final byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++)
        {
            bytes[i] = (byte)(7 * i);
        }
        return new UnsafeBuffer(bytes);
    }

    private static long await(final LongSupplier offer)
    {
        long position;
        while ((position = offer.getAsLong()) < 0 && position > Publication.CLOSED)
        {
            LockSupport.parkNanos(200_000);
        }
        return position;
    }

    private static long send(final ExclusivePublication publication, final String[] words)
    {
        final int length = Integer.parseInt(words[1]);
        switch (words[0])
        {
            case "offer":
                return await(() -> publication.offer(pattern(length), 0, length));
            case "reserved":
                return await(() -> publication.offer(pattern(length), 0, length, SUPPLIER));
            case "vector":
                return vector(publication, words);
            case "claim":
                return claim(publication, length, (byte)0xC0, -7, true);
            case "abort":
                return claim(publication, length, (byte)0xC0, 0, false);
            case "begin":
                return begin(publication, length);
            case "padding":
                return await(() -> publication.appendPadding(length));
            case "block":
                return block(publication, length);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static long vector(final ExclusivePublication publication, final String[] words)
    {
        final DirectBufferVector[] parts = new DirectBufferVector[words.length - 1];
        for (int i = 0; i < parts.length; i++)
        {
            final int length = Integer.parseInt(words[i + 1]);
            parts[i] = new DirectBufferVector(pattern(length), 0, length);
        }
        return await(() -> publication.offer(parts, SUPPLIER));
    }

    private static long claim(
        final ExclusivePublication publication,
        final int length,
        final byte flags,
        final long reserved,
        final boolean commits)
    {
        final BufferClaim claim = new BufferClaim();
        final long position = await(() -> publication.tryClaim(length, claim));
        claim.putBytes(pattern(length), 0, length);
        claim.flags(flags).reservedValue(reserved);
        if (commits)
        {
            claim.commit();
        }
        else
        {
            claim.abort();
        }
        return position;
    }

    private static long begin(final ExclusivePublication publication, final int count)
    {
        long position = 0;
        for (int i = 0; i < count; i++)
        {
            position = claim(publication, 1000, i == 0 ? (byte)0x80 : 0, 0, true);
        }
        return position;
    }

    private static long block(final ExclusivePublication publication, final int count)
    {
        final UnsafeBuffer frames = new UnsafeBuffer(new byte[4096]);
        final int mask = publication.termBufferLength() - 1;
        final int begin = (int)(publication.position() & mask);
        final int term = publication.initialTermId() +
            (int)(publication.position() >> publication.positionBitsToShift());
        int at = 0;
        for (int i = 0; i < count; i++)
        {
            final int length = 40 * (i + 1);
            frames.putInt(at, length + Flow.HEADER_LENGTH, ByteOrder.LITTLE_ENDIAN);
            frames.putByte(at + 5, (byte)0xC0);
            frames.putShort(at + 6, (short)1, ByteOrder.LITTLE_ENDIAN);
            frames.putInt(at + 8, begin + at, ByteOrder.LITTLE_ENDIAN);
            frames.putInt(at + 12, publication.sessionId(), ByteOrder.LITTLE_ENDIAN);
            frames.putInt(at + 16, publication.streamId(), ByteOrder.LITTLE_ENDIAN);
            frames.putInt(at + 20, term, ByteOrder.LITTLE_ENDIAN);
            frames.putLong(at + 24, i, ByteOrder.LITTLE_ENDIAN);
            frames.putBytes(at + Flow.HEADER_LENGTH, pattern(length), 0, length);
            at += (length + Flow.HEADER_LENGTH + 31) & ~31;
        }
        final int total = at;
        return await(() -> publication.offerBlock(frames, 0, total));
    }

    private static void subscribe(final Aeron aeron, final String channel, final int stream, final Flow.Port port)
    {
        final Queue<String> told = new ConcurrentLinkedQueue<>();
        final FragmentHandler handler = (buffer, offset, length, header) ->
        {
            final byte[] payload = new byte[length];
            buffer.getBytes(offset, payload);
            final CRC32 crc = new CRC32();
            crc.update(payload);
            port.say(String.format(
                "FRAGMENT offset=%d length=%d flags=%d reserved=%d crc=%d position=%d session=%d",
                header.termOffset(), length, header.flags() & 0xFF, header.reservedValue(), crc.getValue(),
                header.position(), header.sessionId()));
        };
        final Subscription subscription = aeron.addSubscription(
            channel,
            stream,
            (image) -> told.add("IMAGE session=" + image.sessionId()),
            (image) -> told.add(String.format("GONE session=%d position=%d revoked=%b end=%b",
                image.sessionId(), image.position(), image.isPublicationRevoked(), image.isEndOfStream())));
        port.say("READY");
        boolean polls = false;
        for (String[] words = next(port); !words[0].equals("close"); words = next(port))
        {
            for (String line = told.poll(); line != null; line = told.poll())
            {
                port.say(line);
            }
            if (words[0].equals("poll"))
            {
                polls = true;
            }
            else if (words[0].equals("peek"))
            {
                port.say("PEEKED position=" + peek(subscription.imageAtIndex(0), words));
            }
            if (!polls || subscription.poll(handler, 10) == 0)
            {
                LockSupport.parkNanos(200_000);
            }
        }
    }

    /** From a position, up to another, with a break after some fragments. */
    private static long peek(final Image image, final String[] words)
    {
        final int[] left = { Integer.parseInt(words[3]) };
        return image.controlledPeek(
            Long.parseLong(words[1]),
            (buffer, offset, length, header) -> --left[0] == 0 ? Action.BREAK : Action.CONTINUE,
            Long.parseLong(words[2]));
    }
}
