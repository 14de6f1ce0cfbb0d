import { KeyRotation, rotateAgentKey } from '../../agents/rotate-key';
import { readForm, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { LinkButton, ToCopy } from '../parts/blocks';
import { Time, visibleText, Written } from '../parts/inline';
import { type AgentContext, requireAgent } from './agent';

/** Gives an agent a new key, and shows it this once, with what becomes of the old one. */
export async function rotateKey(c: AgentContext): Promise<Response> {
  const { id, name } = requireAgent(c);
  const form = await readForm(c);
  const seconds = form.text('grace_period');
  const input = validate(KeyRotation(), { grace_period: seconds === '' ? undefined : Number(seconds) });
  const { api_key, old_key_expires_at } = await c.var.once((context) => rotateAgentKey(context, { id, ...input }));
  return sendPage(c, {
    title: `A new key for ${visibleText(name)}`,
    heading: ['A new key for ', <Written text={name} />],
    isNarrow: true,
    children: (
      <>
        <section class="card" aria-label="The new key">
          <p>Copy it now: it is shown only this once.</p>
          <ToCopy id="key" text={api_key} label="Key" />
          {input.grace_period === 0 ? (
            <p>All older keys have ended. The agent is refused until it has the new one.</p>
          ) : (
            <p>
              The old key works until <Time at={old_key_expires_at} />. Give the agent the new one before that.
            </p>
          )}
        </section>
        <p class="actions">
          <LinkButton href={`/console/agents/${id}`} label="Back to the agent" />
        </p>
      </>
    ),
  });
}
