-- Fieldware, an invented online shop for outdoor and kitchen goods.
--
-- One table per CSV file of the same name. An empty CSV field is NULL.
-- Dates are ISO text (2026-10-03), timestamps ISO text in UTC
-- (2026-10-03T14:05:00Z); both compare and sort correctly as text.
-- All money is in euro with two decimal places.
-- The data is the state at the end of 2026-10-31; orders start on 2025-11-01.

CREATE TABLE categories (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,          -- what the shop's menu shows, e.g. Camp Stoves
  area  TEXT NOT NULL                  -- Outdoor or Kitchen
);

CREATE TABLE suppliers (
  id              INTEGER PRIMARY KEY,
  name            TEXT NOT NULL UNIQUE,
  city            TEXT NOT NULL,
  country         TEXT NOT NULL,       -- English name, e.g. Germany
  lead_time_days  INTEGER NOT NULL,    -- days from our purchase order to goods in the warehouse
  email           TEXT NOT NULL,
  since           TEXT NOT NULL        -- date of the first contract
);

CREATE TABLE products (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  category_id   INTEGER NOT NULL REFERENCES categories(id),
  supplier_id   INTEGER NOT NULL REFERENCES suppliers(id),
  price         DECIMAL(10,2) NOT NULL, -- what a customer pays today for one piece
  cost          DECIMAL(10,2) NOT NULL, -- what we pay the supplier for one piece
  weight_grams  INTEGER NOT NULL,       -- one piece with its packaging
  is_active     INTEGER NOT NULL CHECK (is_active IN (0, 1)), -- 1 on sale, 0 discontinued
  stock         INTEGER NOT NULL CHECK (stock >= 0)           -- pieces in the warehouse
);

CREATE TABLE customers (
  id          INTEGER PRIMARY KEY,
  first_name  TEXT NOT NULL,
  last_name   TEXT NOT NULL,
  city        TEXT NOT NULL,
  country     TEXT NOT NULL,           -- English name, e.g. Germany
  segment     TEXT NOT NULL CHECK (segment IN ('private', 'business', 'club')), -- club: member of the loyalty programme
  email       TEXT NOT NULL UNIQUE,
  created_at  TEXT NOT NULL            -- date the account was opened
);

CREATE TABLE employees (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL,           -- first and last name
  department  TEXT NOT NULL,
  hired_at    TEXT NOT NULL,           -- first working day
  city        TEXT NOT NULL            -- office or warehouse the person belongs to
);

CREATE TABLE orders (
  id            INTEGER PRIMARY KEY,
  customer_id   INTEGER NOT NULL REFERENCES customers(id),
  status        TEXT NOT NULL CHECK (status IN ('NEW', 'PAID', 'SHIPPED', 'DELIVERED', 'CANCELLED', 'RETURNED')),
                                       -- NEW: placed, not paid; PAID: paid, not yet shipped;
                                       -- SHIPPED: on its way; DELIVERED: with the customer;
                                       -- CANCELLED: called off before shipping;
                                       -- RETURNED: every line came back.
                                       -- Being late is not a status, see due_at.
  ordered_at    TEXT NOT NULL,         -- when the customer placed the order
  due_at        TEXT NOT NULL,         -- latest moment to ship; the order is late if shipped_at > due_at
  shipped_at    TEXT,                  -- handed to the carrier; NULL: not shipped
  delivered_at  TEXT,                  -- received by the customer; NULL: not delivered
  channel       TEXT NOT NULL CHECK (channel IN ('web', 'app', 'phone', 'marketplace')), -- where the order was placed
  total         DECIMAL(10,2) NOT NULL -- sum of the lines' amounts: goods after discounts, without shipping fee
);

CREATE TABLE order_items (
  order_id    INTEGER NOT NULL REFERENCES orders(id),
  line        INTEGER NOT NULL,        -- 1, 2, 3 ... within the order
  product_id  INTEGER NOT NULL REFERENCES products(id),
  quantity    INTEGER NOT NULL CHECK (quantity > 0), -- pieces
  unit_price  DECIMAL(10,2) NOT NULL,  -- price of one piece on the day of the order
  discount    DECIMAL(10,2) NOT NULL,  -- euro taken off the whole line
  amount      DECIMAL(10,2) NOT NULL,  -- quantity * unit_price - discount
  PRIMARY KEY (order_id, line)
);

CREATE TABLE returns (
  id            INTEGER PRIMARY KEY,
  order_id      INTEGER NOT NULL REFERENCES orders(id),
  product_id    INTEGER NOT NULL REFERENCES products(id), -- the product of the line that came back
  reason        TEXT NOT NULL CHECK (reason IN ('DAMAGED', 'DEFECTIVE', 'WRONG_ITEM', 'NOT_AS_DESCRIBED', 'CHANGED_MIND')),
  requested_at  TEXT NOT NULL,         -- when the customer asked to send it back
  refunded_at   TEXT,                  -- when the money was paid back; NULL: still open
  amount        DECIMAL(10,2) NOT NULL -- money to pay back, the whole amount of the line
);

CREATE INDEX orders_by_customer ON orders(customer_id);
CREATE INDEX orders_by_time ON orders(ordered_at);
CREATE INDEX items_by_product ON order_items(product_id);
CREATE INDEX returns_by_order ON returns(order_id);
