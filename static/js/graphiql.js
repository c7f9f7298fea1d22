// GraphiQL on the site's own schema, as whoever is signed in; subscriptions go over a WebSocket.
import { GraphiQL, createElement, createGraphiQLFetcher, createRoot } from "../vendor/graphiql.js";

const place = document.getElementById("graphiql");
const { url, csrfToken } = place.dataset;
const fetcher = createGraphiQLFetcher({
  url,
  subscriptionUrl: new URL(url, location.href).href.replace(/^http/, "ws"),
  headers: { "X-CSRFToken": csrfToken },
});
createRoot(place).render(createElement(GraphiQL, { fetcher, defaultQuery: "{ user { username } }" }));
