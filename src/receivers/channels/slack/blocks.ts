import type {
  ActionsBlock,
  Button,
  ContextBlock,
  HeaderBlock,
  MrkdwnElement,
  PlainTextElement,
  SectionBlock,
  InputBlock as SlackInputBlock,
  ModalView as SlackModalView,
} from '@slack/types';

// The parts of Slack's Block Kit that the channel uses: https://docs.slack.dev/reference/block-kit

/** A paragraph. */
export interface TextBlock extends SectionBlock {
  text: PlainTextElement;
}

/** A field, under whose id Slack sends back its state. */
export interface InputBlock extends SlackInputBlock {
  block_id: string;
}

export type Block = HeaderBlock | TextBlock | ContextBlock | ActionsBlock | InputBlock;

/** A message as `chat.postMessage` and `chat.update` take it. */
export interface SlackMessage {
  /** The text of notifications and for screen readers. Slack parses it: see `escapeText`. */
  text: string;
  blocks: Block[];
}

/** A view as `views.open` takes it. */
export interface ModalView extends SlackModalView {
  private_metadata: string;
  blocks: Block[];
}

/** A text that Slack shows as it is: it parses no mentions, links, markup or emoji codes in it. */
export function plain(text: string): PlainTextElement {
  return { type: 'plain_text', text, emoji: false };
}

export function header(text: string): HeaderBlock {
  return { type: 'header', text: plain(text) };
}

/** A paragraph that Slack does not fold. */
export function section(text: string): TextBlock {
  return { type: 'section', text: plain(text), expand: true };
}

/**
 * A small print.
 * @param elements plain texts, and markup that has no texts but the service's own
 */
export function context(...elements: (string | MrkdwnElement)[]): ContextBlock {
  return {
    type: 'context',
    elements: elements.map((text) => (typeof text === 'string' ? plain(text) : text)),
  };
}

/** Buttons in a row. */
export function actions(...elements: Button[]): ActionsBlock {
  return { type: 'actions', elements };
}

/**
 * A time in words that Slack translates to the reader's time zone.
 * @param before the service's own text before the time
 * @param utc the text for programs that cannot translate it
 */
export function localTime(before: string, time: number, utc: string): MrkdwnElement {
  const token = `<!date^${Math.floor(time / 1_000)}^{date_short_pretty}, {time}|${utc}>`;
  return { type: 'mrkdwn', text: `${before} ${token}`, verbatim: true };
}
