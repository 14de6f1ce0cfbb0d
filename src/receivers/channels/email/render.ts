import { isLongerThan } from '../../../lib/text';
import type { MailDocument } from './document';
import { MAX_SUBJECT, type Mail, type MailRecipient } from './mail';
import { renderHtml } from './render-html';
import { renderText } from './render-text';
import { safeRecipient } from './written';

/** Renders a document as a mail with both parts. */
export function renderMail(document: MailDocument, to: MailRecipient): Mail {
  const { subject } = document;
  if (isLongerThan(subject, MAX_SUBJECT)) throw new Error('The subject is too long');
  return { to: safeRecipient(to), subject, text: renderText(document), html: renderHtml(document) };
}
