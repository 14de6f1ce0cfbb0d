import type { WebhookWithSecret } from '../../webhooks/webhook';
import { type PageRequest, sendPage } from '../frame/page';
import { Written } from '../parts/text';
import { ToCopy } from '../parts/to-copy';
import { HowToVerify } from './how-to-verify';

/** Answers with a secret that was just made. No other page shows it. */
export function sendSecret(c: PageRequest, title: string, { id, url, secret }: WebhookWithSecret): Response {
  return sendPage(c, {
    title,
    isNarrow: true,
    children: (
      <>
        <p>
          This is the secret that signs the messages to <Written text={url} />. Copy it to your receiver now: it is
          shown only this once.
        </p>
        <ToCopy id="secret" text={secret} label="Secret" />
        <p class="actions">
          <a class="button" href={`/console/webhooks/${id}`}>
            I have copied it
          </a>
        </p>
        <HowToVerify />
      </>
    ),
  });
}
