/** A photo to upload. In Node, openAsBlob of node:fs makes a Blob of a file without reading it. */
export interface PhotoFile {
  name: string;
  data: Blob | Uint8Array;
}

/** How much of an upload has been sent, in bytes. */
export interface Progress {
  sent: number;
  total: number;
}

/** The body of an upload, and its content type where fetch does not find it itself. */
export interface UploadBody {
  body: FormData | ReadableStream<Uint8Array>;
  contentType?: string;
}

/** Makes the multipart body: a form, or a stream that reports its progress. */
export function uploadBody(photos: PhotoFile[], onProgress?: (progress: Progress) => void): UploadBody {
  if (photos.length === 0) throw new TypeError("no photo to upload");
  const form = new FormData();
  for (const photo of photos) form.append("photos", asBlob(photo.data), photo.name);
  return onProgress ? watched(form, onProgress) : { body: form };
}

function asBlob(data: PhotoFile["data"]): Blob {
  return data instanceof Blob ? data : new Blob([data as Uint8Array<ArrayBuffer>]);
}

/** Streams the form as fetch would encode it, and reports each chunk once it was taken. */
function watched(form: FormData, onProgress: (progress: Progress) => void): UploadBody {
  const encoded = new Response(form);
  const contentType = encoded.headers.get("Content-Type") ?? "";
  const total = length(form, contentType);
  const reader = (encoded.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  let sent = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) {
        onProgress({ sent, total: sent });
        controller.close();
        return;
      }
      sent += value.byteLength;
      onProgress({ sent, total: Math.max(total, sent) });
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { body, contentType };
}

/** The length of the encoded form, near enough for a progress bar: runtimes write the part headers differently. */
function length(form: FormData, contentType: string): number {
  let total = contentType.length;
  for (const value of form.values()) {
    if (value instanceof Blob) total += value.size + 200;
  }
  return total;
}
