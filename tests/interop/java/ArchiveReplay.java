import io.aeron.Aeron;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Subscription;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.archive.client.AeronArchive;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Serves an archive directory, lists its recordings, replays each from start to stop, and says what came.
 *
 * Arguments: the Aeron directory, the archive directory, the port of the control channel.
 */
public final class ArchiveReplay
{
    private static final String REPLAY_CHANNEL = "aeron:ipc";
    private static final int REPLAY_STREAM = 7000;
    private static final long DEADLINE_NS = 30_000_000_000L;

    private record Listed(long id, long start, long stop)
    {
    }

    private ArchiveReplay()
    {
    }

    public static void main(final String[] args)
    {
        final MediaDriver.Context driver = new MediaDriver.Context()
            .aeronDirectoryName(args[0])
            .dirDeleteOnStart(true)
            .dirDeleteOnShutdown(true)
            .threadingMode(ThreadingMode.SHARED);
        final String control = "aeron:udp?endpoint=localhost:" + args[2];
        final Archive.Context archive = new Archive.Context()
            .aeronDirectoryName(args[0])
            .archiveDir(new File(args[1]))
            .controlChannel(control)
            .replicationChannel("aeron:udp?endpoint=localhost:0")
            .segmentFileLength(128 * 1024)
            .lowStorageSpaceThreshold(0)
            .threadingMode(ArchiveThreadingMode.SHARED);

        try (ArchivingMediaDriver node = ArchivingMediaDriver.launch(driver, archive);
            Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(args[0]));
            AeronArchive client = AeronArchive.connect(new AeronArchive.Context()
                .aeron(aeron)
                .controlRequestChannel(control)
                .controlResponseChannel("aeron:udp?endpoint=localhost:0")))
        {
            System.out.printf("ARCHIVE dir=%s%n", node.archive().context().archiveDir());
            for (final Listed each : list(client))
            {
                replay(aeron, client, each);
            }
        }
        System.out.println("DONE");
    }

    private static List<Listed> list(final AeronArchive client)
    {
        final List<Listed> found = new ArrayList<>();
        client.listRecordings(0, 1000, (controlSessionId, correlationId, recordingId, startTimestamp, stopTimestamp,
            startPosition, stopPosition, initialTermId, segmentFileLength, termBufferLength, mtuLength, sessionId,
            streamId, strippedChannel, originalChannel, sourceIdentity) ->
        {
            found.add(new Listed(recordingId, startPosition, stopPosition));
            System.out.printf(
                "LISTED id=%d start=%d stop=%d initial-term-id=%d segment=%d term=%d mtu=%d session=%d stream=%d " +
                "stripped=%s original=%s source=%s%n",
                recordingId, startPosition, stopPosition, initialTermId, segmentFileLength, termBufferLength, mtuLength,
                sessionId, streamId, strippedChannel, originalChannel, sourceIdentity);
        });
        return found;
    }

    private static void replay(final Aeron aeron, final AeronArchive client, final Listed recording)
    {
        final CRC32 crc = new CRC32();
        final long[] counts = new long[2];
        final FragmentAssembler assembler = new FragmentAssembler((buffer, offset, length, header) ->
        {
            final byte[] payload = new byte[length];
            buffer.getBytes(offset, payload);
            crc.update(payload);
            counts[0]++;
            counts[1] += length;
        });

        long position = recording.start;
        if (recording.stop > recording.start)
        {
            try (Subscription subscription = client.replay(
                recording.id, recording.start, recording.stop - recording.start, REPLAY_CHANNEL, REPLAY_STREAM))
            {
                final long deadline = System.nanoTime() + DEADLINE_NS;
                while (position < recording.stop)
                {
                    subscription.poll(assembler, 100);
                    final Image image = subscription.imageCount() > 0 ? subscription.imageAtIndex(0) : null;
                    position = image == null ? position : image.position();
                    if (System.nanoTime() > deadline)
                    {
                        throw new IllegalStateException("recording " + recording.id + " stands at " + position);
                    }
                    Thread.yield();
                }
            }
        }
        System.out.printf("REPLAYED id=%d position=%d messages=%d bytes=%d crc=%08x%n",
            recording.id, position, counts[0], counts[1], crc.getValue());
    }
}
