import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.archive.status.RecordingPos;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersReader;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;

/**
 * An archive that records while it is read by others: each line "COUNT" on its input publishes so many more messages,
 * answered by "SENT total position" once they are recorded; the end of input ends it.
 *
 * Arguments: the Aeron directory, the archive directory, the port of the control channel.
 */
public final class ArchiveRecord
{
    private static final int STREAM = 1001;
    private static final int TERM_LENGTH = 64 * 1024;

    private ArchiveRecord()
    {
    }

    public static void main(final String[] args) throws Exception
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
            .segmentFileLength(2 * TERM_LENGTH)
            .lowStorageSpaceThreshold(0)
            .threadingMode(ArchiveThreadingMode.SHARED);

        try (ArchivingMediaDriver node = ArchivingMediaDriver.launch(driver, archive);
            Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(args[0]));
            AeronArchive client = AeronArchive.connect(new AeronArchive.Context()
                .aeron(aeron)
                .controlRequestChannel(control)
                .controlResponseChannel("aeron:udp?endpoint=localhost:0"));
            ExclusivePublication publication =
                aeron.addExclusivePublication("aeron:ipc?term-length=" + TERM_LENGTH, STREAM))
        {
            client.startRecording("aeron:ipc", STREAM, SourceLocation.LOCAL);
            final CountersReader counters = aeron.countersReader();
            int counterId;
            while ((counterId = RecordingPos.findCounterIdBySession(
                counters, publication.sessionId(), client.archiveId())) < 0)
            {
                Thread.onSpinWait();
            }
            System.out.printf("RECORDING %d dir=%s%n",
                RecordingPos.getRecordingId(counters, counterId), node.archive().context().archiveDir());
            serve(publication, counters, counterId);
        }
    }

    private static void serve(
        final ExclusivePublication publication, final CountersReader counters, final int counterId) throws Exception
    {
        final BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        int total = 0;
        for (String line = orders.readLine(); line != null; line = orders.readLine())
        {
            final int end = total + Integer.parseInt(line);
            while (total < end)
            {
                final UnsafeBuffer message = message(total);
                if (publication.offer(message) > 0)
                {
                    total++;
                }
                else
                {
                    Thread.onSpinWait();
                }
            }
            while (counters.getCounterValue(counterId) < publication.position())
            {
                Thread.onSpinWait();
            }
            System.out.printf("SENT total=%d position=%d%n", total, publication.position());
            System.out.flush();
        }
    }

    /** The number, as little-endian words, so often that many messages are longer than a datagram. */
    private static UnsafeBuffer message(final int number)
    {
        final int words = 1 + number * 37 % 700;
        final UnsafeBuffer buffer = new UnsafeBuffer(new byte[4 * words]);
        for (int i = 0; i < words; i++)
        {
            buffer.putInt(4 * i, number, java.nio.ByteOrder.LITTLE_ENDIAN);
        }
        return buffer;
    }
}
