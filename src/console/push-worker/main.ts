// The service worker that shows notifications while no page is open. It controls no page, and
// answers no requests.

const worker = self as unknown as ServiceWorkerGlobalScope;

/** The notification that the service sends: see `receivers/channels/push/compose.ts`. */
interface PushedNotification {
  title: string;
  body: string;
  path: string;
  tag: string;
  renotify: boolean;
  deadline: string | null;
}

/** Whether the device makes itself felt again when a notification replaces another. */
type Options = NotificationOptions & { renotify: boolean };

worker.addEventListener('push', (event) => {
  if (event.data) event.waitUntil(show(event.data.json()));
});

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(openPage(event.notification.data.path));
});

function show({ title, body, path, tag, renotify, deadline }: PushedNotification): Promise<void> {
  const options: Options = {
    body: deadline === null ? body : `${body}\nDecide by ${timeText(deadline)}`,
    tag,
    renotify,
    data: { path },
    icon: '/console/assets/icon-192.png',
  };
  return worker.registration.showNotification(title, options);
}

/** A time in the zone and the language of the device. */
function timeText(time: string): string {
  const date = { day: 'numeric', month: 'short' } as const;
  const clock = { hour: '2-digit', minute: '2-digit' } as const;
  return new Date(time).toLocaleString(undefined, { ...date, ...clock });
}

/** Shows a page of the console: in the window that has it already, else in a new one. */
async function openPage(path: string): Promise<void> {
  const url = new URL(path, worker.location.origin);
  if (url.origin !== worker.location.origin) return;
  const windows = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const open = windows.find((client) => client.url === url.href);
  if (open) await open.focus();
  else await worker.clients.openWindow(url.href);
}
