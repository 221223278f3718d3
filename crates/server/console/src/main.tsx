// The console: starts with the address it was opened at.
import { render } from "preact";
import { App } from "./app";
import { takeToken } from "./server/http";
import { connect } from "./server/state";
import "./style/base.css";
import "./style/parts.css";
import "./style/views.css";

takeToken();
const root = document.getElementById("app");
if (root) render(<App />, root);
void connect();
