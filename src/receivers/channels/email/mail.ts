/** To whom a mail is sent. */
export interface MailRecipient {
  address: string;
  /** As the person or the identity provider wrote it; null if there is none. */
  name: string | null;
}

/** A mail that is ready to be sent. Its subject and the recipient's name are safe in a header. */
export interface Mail {
  to: MailRecipient;
  subject: string;
  text: string;
  html: string;
}

/** Maximum number of characters of a subject: most clients show fewer than half of them. */
export const MAX_SUBJECT = 150;
/** Maximum number of UTF-8 bytes of each part. Gmail hides what exceeds 102 KB. */
export const MAX_PART_BYTES = 64 * 1024;
