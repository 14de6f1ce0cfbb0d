const LINES = `import { Webhook } from 'standardwebhooks';

// body: the bytes as they came. This throws if the message is not from Countersign.
const message = new Webhook(process.env.SECRET).verify(body, request.headers);`;

/** How a receiver knows that a message is from this service. */
export function HowToVerify() {
  return (
    <section class="card" aria-labelledby="verify-title">
      <h2 id="verify-title">How to verify a signature</h2>
      <p>Each message is signed with the webhook’s secret. In JavaScript:</p>
      <pre>{LINES}</pre>
      <p>
        <a href="/docs/guides/webhooks">The guide to webhooks</a>, with a receiver to start from
      </p>
    </section>
  );
}
