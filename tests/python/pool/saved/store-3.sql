pragma user_version=3;
CREATE TABLE meta(key text primary key, value integer not null) without rowid;
CREATE TABLE daemon(name text primary key, doc blob not null) without rowid;
CREATE TABLE device(id text primary key, daemon text not null, doc blob not null,
                    epoch integer not null, floor integer not null, admin text not null)
                    without rowid;
CREATE TABLE lease(id text primary key, holder text not null, grp text not null,
                   state text not null, arrived integer not null, doc blob not null) without rowid;
CREATE TABLE handle(device text not null, epoch integer not null, lease text not null,
                    exclusive integer not null, open integer not null, doc blob not null,
                    primary key(device, epoch)) without rowid;
CREATE UNIQUE INDEX one_exclusive on handle(device) where open and exclusive;
CREATE INDEX handle_lease on handle(lease);
CREATE TABLE usage(name text primary key, doc blob not null) without rowid;
CREATE TABLE quota(name text primary key, doc blob not null) without rowid;
CREATE TABLE reservation(id text primary key, doc blob not null) without rowid;
CREATE TABLE ban(user text primary key, doc blob not null) without rowid;
CREATE TABLE audit(rev integer not null, at integer not null, actor text not null,
                   verb text not null, object text not null, detail text not null);
CREATE TABLE held(device text not null, epoch integer not null, lease text not null,
                  holder text not null, grp text not null, share integer not null,
                  granted integer not null, ended integer not null, compute_ns integer not null default 0, waited_ns integer not null default 0, bytes_in integer not null default 0, bytes_out integer not null default 0,
                  primary key(device, epoch)) without rowid;
CREATE INDEX held_granted on held(granted);
CREATE INDEX audit_rev on audit(rev)
;
CREATE INDEX audit_actor on audit(actor, rev);
insert into meta values ('now_ms', 1795899395220);
insert into meta values ('rev', 13);
insert into daemon values ('n1', cast('{"name":"n1","instance":"9b18b40b0280","wire":[7],"addresses":[],"machine":"","subnet":"","labels":{"rack":"r7"}}' as blob));
insert into daemon values ('n2', cast('{"name":"n2","instance":"d4cccb860920","wire":[7],"addresses":[],"machine":"","subnet":"","labels":{"rack":"r7"}}' as blob));
insert into device values ('n1/0', 'n1', cast('{"id":"n1/0","daemon":"n1","kind":"gpu","model":"m","memory_bytes":1073741824,"gflops":0.0,"epoch":2,"floor":2,"admin":"open","broken_ms":0,"stays_broken":false,"last_break_ms":0}' as blob), 2, 2, 'open');
insert into device values ('n1/1', 'n1', cast('{"id":"n1/1","daemon":"n1","kind":"gpu","model":"m","memory_bytes":1073741824,"gflops":0.0,"epoch":1,"floor":1,"admin":"open","broken_ms":0,"stays_broken":false,"last_break_ms":0}' as blob), 1, 1, 'open');
insert into device values ('n2/0', 'n2', cast('{"id":"n2/0","daemon":"n2","kind":"gpu","model":"m","memory_bytes":1073741824,"gflops":0.0,"epoch":1,"floor":1,"admin":"open","broken_ms":0,"stays_broken":false,"last_break_ms":0}' as blob), 1, 1, 'open');
insert into device values ('n2/1', 'n2', cast('{"id":"n2/1","daemon":"n2","kind":"gpu","model":"m","memory_bytes":1073741824,"gflops":0.0,"epoch":1,"floor":1,"admin":"cordoned","broken_ms":0,"stays_broken":false,"last_break_ms":0}' as blob), 1, 1, 'cordoned');
insert into lease values ('alone', 'loopback', 'chem', 'held', 1795899394922, cast('{"id":"alone","holder":"loopback","request":{"count":2,"selector":{"kind":"","model":"","min_memory_bytes":0,"min_gflops":0.0,"labels":{}},"exclusive":true,"share":1000,"memory_bytes":0,"spread":"any","near":null,"priority":"normal","static":false,"until_ms":8796093022208,"max_hold_ms":0,"ttl_ms":0,"replace":true,"wire":[],"group":"chem"},"state":"held","arrived_ms":1795899394922,"held_ms":1795899394922,"end_ms":1795899394922,"over_ms":0,"reason":"","waiting":[],"parts":[]}' as blob));
insert into lease values ('ended', 'loopback', 'chem', 'over', 1795899394840, cast('{"id":"ended","holder":"loopback","request":{"count":1,"selector":{"kind":"","model":"","min_memory_bytes":0,"min_gflops":0.0,"labels":{}},"exclusive":true,"share":1000,"memory_bytes":0,"spread":"any","near":null,"priority":"normal","static":false,"until_ms":0,"max_hold_ms":0,"ttl_ms":60000,"replace":false,"wire":[],"group":"chem"},"state":"over","arrived_ms":1795899394840,"held_ms":1795899394840,"end_ms":1795899454840,"over_ms":1795899395002,"reason":"released","waiting":[],"parts":[]}' as blob));
insert into lease values ('part', 'loopback', 'chem', 'held', 1795899395074, cast('{"id":"part","holder":"loopback","request":{"count":1,"selector":{"kind":"","model":"","min_memory_bytes":0,"min_gflops":0.0,"labels":{}},"exclusive":false,"share":300,"memory_bytes":10,"spread":"any","near":null,"priority":"high","static":false,"until_ms":0,"max_hold_ms":0,"ttl_ms":86400000,"replace":false,"wire":[],"group":"chem"},"state":"held","arrived_ms":1795899395074,"held_ms":1795899395074,"end_ms":1795985795074,"over_ms":0,"reason":"","waiting":[],"parts":[]}' as blob));
insert into lease values ('slurm.a.4711.0', 'certificate ada', '', 'held', 1795899395002, cast('{"id":"slurm.a.4711.0","holder":"certificate ada","request":{"count":1,"selector":{"kind":"","model":"","min_memory_bytes":0,"min_gflops":0.0,"labels":{}},"exclusive":true,"share":1000,"memory_bytes":0,"spread":"any","near":null,"priority":"normal","static":false,"until_ms":8796093022208,"max_hold_ms":0,"ttl_ms":0,"replace":false,"wire":[],"group":""},"state":"held","arrived_ms":1795899395002,"held_ms":1795899395002,"end_ms":1795899395002,"over_ms":0,"reason":"","waiting":[],"parts":[]}' as blob));
insert into lease values ('waits', 'loopback', 'chem', 'queued', 1795899395158, cast('{"id":"waits","holder":"loopback","request":{"count":4,"selector":{"kind":"","model":"","min_memory_bytes":0,"min_gflops":0.0,"labels":{"rack":"r7"}},"exclusive":true,"share":1000,"memory_bytes":0,"spread":"any","near":null,"priority":"normal","static":false,"until_ms":8796093022208,"max_hold_ms":0,"ttl_ms":0,"replace":false,"wire":[7,8],"group":"chem"},"state":"queued","arrived_ms":1795899395158,"held_ms":0,"end_ms":1795899395158,"over_ms":0,"reason":"","waiting":[{"part":"","count":4,"priority":"normal","arrived_ms":1795899395158,"arrived_rev":12}],"parts":[]}' as blob));
insert into handle values ('n1/0', 1, 'ended', 1, 0, cast('{"device":"n1/0","epoch":1,"lease":"ended","exclusive":true,"share":1000,"memory_bytes":1073741824,"granted_ms":1795899394840,"open":false,"end_rev":7,"reason":"released","reclaim_ms":0,"use":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"counted":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"instance":""}' as blob));
insert into handle values ('n1/0', 2, 'slurm.a.4711.0', 1, 1, cast('{"device":"n1/0","epoch":2,"lease":"slurm.a.4711.0","exclusive":true,"share":1000,"memory_bytes":1073741824,"granted_ms":1795899395002,"open":true,"end_rev":0,"reason":"","reclaim_ms":0,"use":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"counted":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"instance":""}' as blob));
insert into handle values ('n1/1', 1, 'alone', 1, 1, cast('{"device":"n1/1","epoch":1,"lease":"alone","exclusive":true,"share":1000,"memory_bytes":1073741824,"granted_ms":1795899394922,"open":true,"end_rev":0,"reason":"","reclaim_ms":0,"use":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"counted":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"instance":""}' as blob));
insert into handle values ('n2/0', 1, 'alone', 1, 1, cast('{"device":"n2/0","epoch":1,"lease":"alone","exclusive":true,"share":1000,"memory_bytes":1073741824,"granted_ms":1795899394922,"open":true,"end_rev":0,"reason":"","reclaim_ms":0,"use":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"counted":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"instance":""}' as blob));
insert into handle values ('n2/1', 1, 'part', 0, 1, cast('{"device":"n2/1","epoch":1,"lease":"part","exclusive":false,"share":300,"memory_bytes":10,"granted_ms":1795899395074,"open":true,"end_rev":0,"reason":"","reclaim_ms":0,"use":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"counted":{"compute_ns":0,"waited_ns":0,"bytes_in":0,"bytes_out":0},"instance":""}' as blob));
insert into usage values ('', cast('{"name":"","shares":1,"used":433.99997509804746,"week":2969,"week_used":434.0,"at_ms":1795899395074,"running":3300}' as blob));
insert into usage values ('certificate ada', cast('{"name":"certificate ada","shares":1,"used":0.0,"week":0,"week_used":0.0,"at_ms":1795899395002,"running":1000}' as blob));
insert into usage values ('group:chem', cast('{"name":"group:chem","shares":1,"used":361.99998830085036,"week":2969,"week_used":362.0,"at_ms":1795899395074,"running":2300}' as blob));
insert into usage values ('loopback', cast('{"name":"loopback","shares":1,"used":361.99998830085036,"week":2969,"week_used":362.0,"at_ms":1795899395074,"running":2300}' as blob));
insert into quota values ('user:certificate eve', cast('{"name":"user:certificate eve","devices":3,"week_device_ms":0,"waiting":2}' as blob));
insert into reservation values ('course', cast('{"id":"course","selector":{"kind":"","model":"","min_memory_bytes":0,"min_gflops":0.0,"labels":{}},"count":1,"users":["certificate eve"],"start_ms":8796093022208,"end_ms":17592186044416}' as blob));
insert into ban values ('certificate mallory', cast('{"user":"certificate mallory","reason":"ask the help desk"}' as blob));
insert into audit values (1, 1795899394420, 'loopback', 'quota', 'user:certificate eve', '');
insert into audit values (2, 1795899394449, 'loopback', 'reserve', 'course', '');
insert into audit values (3, 1795899394519, 'loopback', 'ban', 'certificate mallory', 'ask the help desk');
insert into audit values (6, 1795899394840, 'loopback', 'grant', 'ended', 'n1/0');
insert into audit values (7, 1795899394898, 'loopback', 'end', 'ended', 'released');
insert into audit values (8, 1795899394922, 'loopback', 'grant', 'alone', 'n1/1 n2/0');
insert into audit values (10, 1795899395002, 'certificate ada', 'grant', 'slurm.a.4711.0', 'n1/0');
insert into audit values (11, 1795899395074, 'loopback', 'grant', 'part', 'n2/1');
insert into audit values (13, 1795899395220, 'loopback', 'cordoned', 'n2/1', '');
insert into held values ('n1/0', 1, 'ended', 'loopback', 'chem', 1000, 1795899394840, 1795899394898, 0, 0, 0, 0);
insert into held values ('n1/0', 2, 'slurm.a.4711.0', 'certificate ada', '', 1000, 1795899395002, 4611686018427387904, 0, 0, 0, 0);
insert into held values ('n1/1', 1, 'alone', 'loopback', 'chem', 1000, 1795899394922, 4611686018427387904, 0, 0, 0, 0);
insert into held values ('n2/0', 1, 'alone', 'loopback', 'chem', 1000, 1795899394922, 4611686018427387904, 0, 0, 0, 0);
insert into held values ('n2/1', 1, 'part', 'loopback', 'chem', 300, 1795899395074, 4611686018427387904, 0, 0, 0, 0);
