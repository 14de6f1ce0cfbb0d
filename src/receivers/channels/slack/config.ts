import * as z from 'zod';
import type { ReceiverKind } from '../../../db/schema';
import { listOf } from '../../../http/fields';
import { atLeastOneField } from '../../../http/input';
import type { JsonObject } from '../../../lib/json';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { ChannelFilter, presentFilter } from '../filter';

/** Maximum number of Slack channels to which one channel posts. */
export const MAX_SLACK_CHANNELS = 20;

/**
 * The `config` of a channel of kind `slack`: one Slack app, and the Slack channels to which it
 * posts.
 */
export const SlackConfig = lazy(() =>
  z
    .strictObject({
      bot_token: z
        .string()
        .regex(/^xoxb-[!-~]{1,250}$/, 'must be a bot token of Slack, which starts with xoxb-')
        .meta({ description: 'The bot token of the Slack app. No answer shows it.' }),
      signing_secret: z
        .string()
        .regex(/^[!-~]{1,255}$/, 'must be the signing secret of the Slack app, without spaces')
        .meta({ description: 'The signing secret of the Slack app. No answer shows it.' }),
      channels: listOf(
        z.strictObject({
          id: z
            .string()
            .regex(/^[A-Z][A-Z0-9]{0,30}$/, 'must be the id of a Slack channel, such as C024BE91L')
            .meta({ examples: ['C024BE91L'] }),
          filter: ChannelFilter().nullish(),
        }),
        MAX_SLACK_CHANNELS,
      ).refine(
        (channels) => new Set(channels.map(({ id }) => id)).size === channels.length,
        'must name each channel once',
      ),
    })
    .meta({
      id: 'SlackConfig',
      examples: [
        {
          bot_token: 'xoxb-EXAMPLE-EXAMPLE-EXAMPLE',
          signing_secret: '8f742231b10e8888abcd99yyyzzz85a5',
          channels: [{ id: 'C024BE91L', filter: { actions: ['email.*'] } }],
        },
      ],
    }),
);

/** The same when it is changed: what is left out stays as it is. */
export const SlackConfigUpdate = lazy(() => atLeastOneField(SlackConfig().partial()));

export type SlackConfig = LazyOutput<typeof SlackConfig>;

/** The part of the settings that is stored in the clear and shown: all but the secrets. */
export function shownConfig({ channels }: Pick<SlackConfig, 'channels'>): JsonObject {
  const shown = channels.map(({ id, filter }) => {
    const limits = presentFilter(filter);
    return limits ? { id, filter: limits } : { id };
  });
  return { channels: shown } as unknown as JsonObject;
}

/** The Slack channels that a stored channel names; none for e-mail. */
export function slackChannelsOf({
  kind,
  config,
}: {
  kind: ReceiverKind;
  config: JsonObject | null;
}): SlackConfig['channels'] {
  return kind === 'slack' ? (config as unknown as Pick<SlackConfig, 'channels'>).channels : [];
}
