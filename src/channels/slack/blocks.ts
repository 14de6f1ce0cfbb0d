// The parts of Slack's Block Kit that the channel uses: https://docs.slack.dev/reference/block-kit

/** A text that Slack shows as it is: it parses no mentions, links, markup or emoji codes in it. */
export interface PlainText {
  type: 'plain_text';
  text: string;
  emoji: false;
}

/** A text with Slack's markup. Only texts of the service's own may stand in it. */
export interface Markup {
  type: 'mrkdwn';
  text: string;
  verbatim: true;
}

export interface Button {
  type: 'button';
  action_id: string;
  text: PlainText;
  value?: string;
  url?: string;
  style?: 'primary';
}

export interface Option {
  text: PlainText;
  value: string;
}

export type InputElement =
  | {
      type: 'number_input';
      action_id: string;
      is_decimal_allowed: boolean;
      initial_value: string;
      min_value?: string;
      max_value: string;
    }
  | { type: 'checkboxes'; action_id: string; options: Option[]; initial_options: Option[] }
  | { type: 'radio_buttons'; action_id: string; options: Option[] }
  | { type: 'plain_text_input'; action_id: string; multiline: boolean; max_length: number };

export interface InputBlock {
  type: 'input';
  block_id: string;
  label: PlainText;
  hint?: PlainText;
  optional: boolean;
  element: InputElement;
}

export type Block =
  | { type: 'header'; text: PlainText }
  | { type: 'section'; text: PlainText; expand: true }
  | { type: 'context'; elements: (PlainText | Markup)[] }
  | { type: 'actions'; elements: Button[] }
  | InputBlock;

/** A message as `chat.postMessage` and `chat.update` take it. */
export interface SlackMessage {
  /** What notifications and screen readers say. Slack parses it: see `escapeText`. */
  text: string;
  blocks: Block[];
}

/** A view as `views.open` takes it. */
export interface ModalView {
  type: 'modal';
  callback_id: string;
  private_metadata: string;
  title: PlainText;
  submit: PlainText;
  close: PlainText;
  blocks: Block[];
}

export function plain(text: string): PlainText {
  return { type: 'plain_text', text, emoji: false };
}

export function header(text: string): Block {
  return { type: 'header', text: plain(text) };
}

/** A paragraph that Slack does not fold. */
export function section(text: string): Block {
  return { type: 'section', text: plain(text), expand: true };
}

/** A small print. */
export function context(...elements: (string | Markup)[]): Block {
  return {
    type: 'context',
    elements: elements.map((text) => (typeof text === 'string' ? plain(text) : text)),
  };
}

/**
 * A time in words that Slack translates to the reader's time zone.
 * @param before the service's own text before the time
 * @param utc what programs show that cannot translate it
 */
export function localTime(before: string, time: number, utc: string): Markup {
  const token = `<!date^${Math.floor(time / 1_000)}^{date_short_pretty}, {time}|${utc}>`;
  return { type: 'mrkdwn', text: `${before} ${token}`, verbatim: true };
}
