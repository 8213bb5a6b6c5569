// A server that answers what a test says, for failures that a real service does not show on demand.
import { createServer } from "node:http";

export function envelope(status, code, headers = {}, details = {}) {
  const body = { statusCode: status, code, message: "no", details, request_id: "r-1" };
  return { status, headers: { "X-Request-Id": "r-1", ...headers }, body };
}

/** Answers in turn, then closes connections. requests has what came. */
export async function stub(t, ...answers) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    requests.push({ method: request.method, path: request.url, headers: request.headers, body: Buffer.concat(chunks) });
    const answer = answers.shift();
    if (!answer) return request.socket.destroy();
    response.writeHead(answer.status, answer.headers ?? {});
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}/v1/integrations`, requests };
}
