import type { WebhookWithSecret } from '../../receivers/webhooks/webhook';
import { type PageRequest, sendPage } from '../frame/page';
import { Section } from '../parts/blocks';
import { Written } from '../parts/inline';
import { AfterSecret, Secret } from '../parts/secret';

/** Answers with a secret that was just made. No other page shows it. */
export function sendSecret(
  c: PageRequest,
  title: string,
  { id, url, secret }: WebhookWithSecret,
): Response {
  return sendPage(c, {
    title,
    isNarrow: true,
    children: (
      <>
        <Secret
          title="The secret"
          text={secret}
          purpose={
            <>
              With it your receiver verifies the messages to <Written text={url} />.
            </>
          }
        />
        <HowToVerify />
        <AfterSecret next={`/console/webhooks/${id}`} />
      </>
    ),
  });
}

const LINES = `import { Webhook } from 'standardwebhooks';

// body: the bytes as they came. This throws if the message is not from Countersign.
const message = new Webhook(process.env.SECRET).verify(body, request.headers);`;

/** How a receiver knows that a message is from this service. */
export function HowToVerify() {
  return (
    <Section name="verify" title="How to verify a signature">
      <p>Each message is signed with the webhook’s secret. In JavaScript:</p>
      <pre>{LINES}</pre>
      <p>
        <a href="/docs/guides/webhooks">The guide to webhooks</a>, with a receiver to start from
      </p>
    </Section>
  );
}
