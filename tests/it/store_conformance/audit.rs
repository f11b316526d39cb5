//! What must hold in the tables at any time, whatever was done through the store.

use super::rig::Rig;

/// Each query counts offenders.
const RULES: &[(&str, &str)] = &[
    (
        "a live name names a live inode",
        "SELECT count(*) FROM dirents d WHERE d.valid_to IS NULL AND NOT EXISTS (SELECT 1 FROM inodes i \
         WHERE i.sandbox_id = d.sandbox_id AND i.ino = d.ino AND i.valid_to IS NULL)",
    ),
    (
        "a live name is in a live directory",
        "SELECT count(*) FROM dirents d WHERE d.valid_to IS NULL AND NOT EXISTS (SELECT 1 FROM inodes i \
         WHERE i.sandbox_id = d.sandbox_id AND i.ino = d.parent_ino AND i.kind = 2 AND i.valid_to IS NULL)",
    ),
    (
        "a live inode but the root has a name",
        "SELECT count(*) FROM inodes i WHERE i.valid_to IS NULL AND i.ino <> 1 AND NOT EXISTS (SELECT 1 FROM dirents d \
         WHERE d.sandbox_id = i.sandbox_id AND d.ino = i.ino AND d.valid_to IS NULL)",
    ),
    (
        "a file's link count is the number of its names",
        "SELECT count(*) FROM inodes i WHERE i.valid_to IS NULL AND i.kind <> 2 AND i.nlink <> (SELECT count(*) \
         FROM dirents d WHERE d.sandbox_id = i.sandbox_id AND d.ino = i.ino AND d.valid_to IS NULL)",
    ),
    ("no inode has a link count of zero", "SELECT count(*) FROM inodes WHERE nlink = 0"),
    (
        "a content that an inode names is there, of its size",
        "SELECT count(*) FROM inodes i WHERE i.sha256 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM blobs b \
         WHERE b.sha256 = i.sha256 AND b.size = i.size)",
    ),
    (
        "the counters of a sandbox are those of its live inodes",
        "SELECT count(*) FROM sandboxes s WHERE s.state = 'active' AND (s.file_count <> (SELECT count(*) FROM inodes i \
         WHERE i.sandbox_id = s.id AND i.valid_to IS NULL) OR s.total_bytes <> (SELECT coalesce(sum(i.size), 0) \
         FROM inodes i WHERE i.sandbox_id = s.id AND i.valid_to IS NULL AND i.kind = 1) OR s.next_ino <= \
         (SELECT max(i.ino) FROM inodes i WHERE i.sandbox_id = s.id))",
    ),
    (
        "the present version is logged with its head",
        "SELECT count(*) FROM sandboxes s WHERE s.state = 'active' AND NOT EXISTS (SELECT 1 FROM exec_log l \
         WHERE l.sandbox_id = s.id AND l.version = s.version AND l.head = s.head)",
    ),
    (
        "every version since history_from is logged",
        "SELECT count(*) FROM sandboxes s WHERE s.state = 'active' AND s.version - s.history_from + 1 <> (SELECT \
         count(*) FROM exec_log l WHERE l.sandbox_id = s.id AND l.version BETWEEN s.history_from AND s.version)",
    ),
    (
        "no row is of a version that is still to come",
        "SELECT count(*) FROM sandboxes s WHERE s.state = 'active' AND (\
         EXISTS (SELECT 1 FROM inodes i WHERE i.sandbox_id = s.id AND (i.valid_from > s.version OR i.valid_to > s.version)) \
         OR EXISTS (SELECT 1 FROM dirents d WHERE d.sandbox_id = s.id AND (d.valid_from > s.version OR d.valid_to > s.version)) \
         OR EXISTS (SELECT 1 FROM exec_log l WHERE l.sandbox_id = s.id AND l.version > s.version))",
    ),
    (
        "a voided version has no rows",
        "SELECT count(*) FROM exec_log l WHERE l.outcome = 'voided' AND (\
         EXISTS (SELECT 1 FROM inodes i WHERE i.sandbox_id = l.sandbox_id AND (i.valid_from = l.version OR i.valid_to = l.version)) \
         OR EXISTS (SELECT 1 FROM dirents d WHERE d.sandbox_id = l.sandbox_id AND (d.valid_from = l.version OR d.valid_to = l.version)))",
    ),
    (
        "no row belongs to a sandbox that is not there",
        "SELECT count(*) FROM (SELECT sandbox_id FROM inodes UNION SELECT sandbox_id FROM dirents \
         UNION SELECT sandbox_id FROM exec_log) t WHERE NOT EXISTS (SELECT 1 FROM sandboxes s WHERE s.id = t.sandbox_id)",
    ),
    (
        "intervals of one inode do not overlap",
        "SELECT count(*) FROM inodes a JOIN inodes b ON a.sandbox_id = b.sandbox_id AND a.ino = b.ino \
         AND a.valid_from < b.valid_from WHERE a.valid_to IS NULL OR a.valid_to > b.valid_from",
    ),
    (
        "intervals of one name do not overlap",
        "SELECT count(*) FROM dirents a JOIN dirents b ON a.sandbox_id = b.sandbox_id AND a.parent_ino = b.parent_ino \
         AND a.name = b.name AND a.valid_from < b.valid_from WHERE a.valid_to IS NULL OR a.valid_to > b.valid_from",
    ),
];

pub async fn audit(rig: &Rig) {
    for (rule, sql) in RULES {
        assert_eq!(rig.number(sql).await, 0, "offenders against: {rule}");
    }
}
