// The console: starts with the address it was opened at.
import { render } from "preact";
import { App } from "./app";
import { readAddress } from "./router";
import { takeToken } from "./server/http";
import { connect } from "./server/state";
import "./style/base.css";
import "./style/parts.css";
import "./style/data.css";
import "./style/views.css";
import "./style/new.css";

takeToken();
readAddress();
const root = document.getElementById("app");
if (root) render(<App />, root);
void connect();
