import StrataCore

/// The keys of a module's managed object classes, which the package's build plugin writes down: see ``DeclaredKeyTable``. Not for hand-written code.
public typealias NSManagedKeyTable = DeclaredKeyTable
/// What such a table adds to.
public typealias NSManagedKeyList = DeclaredKeys
