/// Something that Strata did, told to the observers that ask for its kind; see ``StrataObservers``.
///
/// A value. Texts that take time to make, such as a plan, are made when they are read. Later versions may add cases: give a `switch` a
/// `default`.
public enum StrataEvent: Sendable {
  /// A context has saved, or could not.
  case save(SaveEvent)
  /// A store has answered a request, or could not.
  case fetch(FetchEvent)
  /// Rows of faults, or members of a to-many relationship, were read.
  case fault(FaultEvent)
  /// One place of the program has fired many faults one by one.
  case repeatedFaults(RepeatedFaultsEvent)
  /// A merge policy was asked.
  case conflict(ConflictEvent)
  /// A thread has waited for another one.
  case wait(WaitEvent)
  /// A store has carried out a batch request.
  case batch(BatchEvent)
  /// A store was brought to another version of its model, or could not be.
  case migration(MigrationEvent)
  /// Readers keep pages of a store's file from being used again.
  case heldPages(HeldPagesEvent)
  /// What goes to standard error while nobody asks for messages.
  case message(MessageEvent)

  /// What an observer asks for.
  public struct Kinds: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// ``StrataEvent/save(_:)``.
    public static let saves = Kinds(rawValue: 1)
    /// ``StrataEvent/fetch(_:)``.
    public static let fetches = Kinds(rawValue: 2)
    /// ``StrataEvent/fault(_:)``.
    public static let faults = Kinds(rawValue: 4)
    /// ``StrataEvent/repeatedFaults(_:)``. For each fault that is read alone the calling functions are looked at, which takes some fifteen times as
    /// many instructions as reading the row.
    public static let repeatedFaults = Kinds(rawValue: 8)
    /// ``StrataEvent/conflict(_:)``.
    public static let conflicts = Kinds(rawValue: 16)
    /// ``StrataEvent/wait(_:)``.
    public static let waits = Kinds(rawValue: 32)
    /// ``StrataEvent/batch(_:)``.
    public static let batches = Kinds(rawValue: 64)
    /// ``StrataEvent/migration(_:)``.
    public static let migrations = Kinds(rawValue: 128)
    /// ``StrataEvent/heldPages(_:)``.
    public static let heldPages = Kinds(rawValue: 256)
    /// ``StrataEvent/message(_:)``. Who asks for messages takes the place of standard error.
    public static let messages = Kinds(rawValue: 512)

    static let anyFault = Kinds(rawValue: 12)
    static let savesAndWaits = Kinds(rawValue: 33)

    /// All of this version, messages included.
    public static let all = Kinds(rawValue: 1_023)
  }

  /// The one kind that the event is of.
  public var kind: Kinds {
    switch self {
    case .save: .saves
    case .fetch: .fetches
    case .fault: .faults
    case .repeatedFaults: .repeatedFaults
    case .conflict: .conflicts
    case .wait: .waits
    case .batch: .batches
    case .migration: .migrations
    case .heldPages: .heldPages
    case .message: .messages
    }
  }
}

/// Gets the events that it asked for.
public protocol StrataObserver: AnyObject, Sendable {
  /// Something has happened.
  ///
  /// Called on the thread where it happened, when the locks and transactions that it took are over, so mostly on a context's queue, and there perhaps in the
  /// middle of a save or of an access to a property. So it must be quick, must not wait for a context, and must not use contexts or objects. What happened under
  /// a lock is told on a queue of the library's own, a little later: all of ``StrataEvent/heldPages(_:)``, waits for another process, and messages about opening a
  /// file. Events of different threads come at the same time and in no order. Events that the observer itself causes are not told to any observer.
  func observe(_ event: StrataEvent)
}
