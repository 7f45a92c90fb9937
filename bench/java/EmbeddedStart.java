import io.aeron.Aeron;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import org.agrona.concurrent.UnsafeBuffer;

/** An embedded driver, a client and one message; says so when it has come. */
public final class EmbeddedStart
{
    private EmbeddedStart()
    {
    }

    public static void main(final String[] args)
    {
        final MediaDriver.Context context = new MediaDriver.Context()
            .aeronDirectoryName(args[0])
            .dirDeleteOnStart(true)
            .dirDeleteOnShutdown(true);
        try (MediaDriver driver = MediaDriver.launchEmbedded(context);
            Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(driver.aeronDirectoryName()));
            Subscription subscription = aeron.addSubscription("aeron:ipc", 1001);
            Publication publication = aeron.addPublication("aeron:ipc", 1001))
        {
            final UnsafeBuffer message = new UnsafeBuffer("hello".getBytes());
            while (publication.offer(message) < 0)
            {
                Thread.onSpinWait();
            }
            while (subscription.poll((buffer, offset, length, header) -> System.out.println("MESSAGE"), 1) == 0)
            {
                Thread.onSpinWait();
            }
        }
    }
}
