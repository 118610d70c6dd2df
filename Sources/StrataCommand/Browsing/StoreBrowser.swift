import Foundation
import StrataCore

/// What a page asks, without the secret and everything else that is the server's business.
package struct BrowseRequest: Sendable {
  /// The name of the answer: `rows`, `object` and so on.
  package var name: String
  /// Percent-decoded.
  package var query: [String: String]
  /// What is sent along; only for requests that change something.
  package var body: [UInt8]
  /// Whether it is a POST.
  package var isPost: Bool
  /// Whose answer need not be made any more when they have left.
  package let asker: Asker

  package init(
    name: String, query: [String: String] = [:], body: [UInt8] = [], isPost: Bool = false,
    asker: Asker = Asker()
  ) {
    self.name = name
    self.asker = asker
    self.query = query
    self.body = body
    self.isPost = isPost
  }

  func text(_ key: String) throws -> String {
    guard let text = query[key] else { throw Failure(.usage, "The request says no “\(key)”.") }
    return text
  }

  func number(_ key: String, else standard: Int, most: Int = .max) throws -> Int {
    guard let text = query[key] else { return standard }
    guard let number = Int(text), number >= 0 else {
      throw Failure(.usage, "“\(text.prefix(40))” is no “\(key)”: it is a number, 0 or more.")
    }
    return min(number, most)
  }
}

/// What the page is answered.
package struct BrowseAnswer: Sendable {
  /// The status of HTTP.
  package var status = 200
  /// The type of the content.
  package var type = "application/json; charset=utf-8"
  package var body: [UInt8]
  /// The name of a file to be saved; nil for what is shown.
  package var fileName: String?
  /// The word that the scripts and the style of a page bear, which are executed; nil for what is no page.
  package var nonce: String?
  /// Whether it is a picture with rules of style inside.
  package var isStyledPicture = false

  init(_ value: JSONValue) { body = Array(value.text.utf8) }

  /// An answer that is no JSON.
  package init(status: Int = 200, type: String = "text/plain; charset=utf-8", body: [UInt8] = []) {
    self.status = status
    self.type = type
    self.body = body
  }

  /// An error in words, as the others.
  package init(status: Int, error: String) {
    self.init(["error": .string(error), "advice": .null])
    self.status = status
  }

  /// An error in words: `{"error": …, "advice": …}`.
  init(_ error: any Error, store: String) {
    let failure = Failure(error, store: store)
    self.init([
      "error": .string(failure.keepsLines ? failure.sentence : Self.oneLine(failure.sentence)),
      "advice": .optional(failure.advice),
    ])
    status =
      switch failure.kind {
      case .usage, .input: 400
      case _ where (error as? CoreDataError).map { (1_550...1_699).contains($0.code.rawValue) } == true: 422
      case .missing: 404
      case .model: 422
      case .busy: 503
      case .permission, .exists: 409
      default: 500
      }
  }

  private static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}

/// Answers what the page asks of one store, which is kept open meanwhile. Each answer is of one commit, the newest.
///
/// May be used from any thread. Answers take as long as the store needs: not for event loops.
package final class StoreBrowser: Sendable {
  /// The store's path, as it was given.
  package let path: String
  /// Whether edits are permitted.
  package let writes: Bool
  private let opened: Mutex<OpenStore>
  let listings: RowListings
  let follower: CommitFollower

  /// Opens a store with the model that it carries; for reading only unless `writes`.
  /// - Parameter willMakeList: Called before the list of a table's rows is made: for tests, which hold it open.
  /// - Throws: `Failure`.
  package init(
    _ path: String, writes: Bool,
    willMakeList: RowListings.WillMake? = nil
  ) throws {
    self.path = path
    self.writes = writes
    listings = RowListings(willMake: willMakeList)
    let store = try OpenStore(path, writes: writes)
    opened = Mutex(store)
    follower = CommitFollower()
  }

  /// The store; another file that has taken its place, as after a migration, is opened.
  /// - Throws: `Failure`.
  func store() throws -> OpenStore {
    try opened.withLock { store in
      if !store.followed.isInPlace {
        guard access(StorePath.resolved(path).path, F_OK) == 0 else {
          throw Failure(.missing, "The store's file is gone.")
        }
        if store.edits?.hasChanges == true {
          throw Failure(
            .exists,
            "Another file has taken the store's place, and what is not saved yet belongs to the one before.",
            advice: "Throw it away to go on with the new one.")
        }
        store = try OpenStore(path, writes: writes)
      }
      return store
    }
  }

  /// The edits, of the store as it was when they were begun.
  func edits() throws -> EditSession {
    guard let edits = opened.withLock({ $0 }).edits else {
      throw Failure(.permission, "The store is only read.", advice: "With --write it can be edited.")
    }
    return edits
  }

  /// What the edits have read so far; nil where the store is only read.
  package var editStatistics: ManagedObjectContext.Statistics? {
    opened.withLock { $0 }.edits?.statistics
  }

  /// How often all rows of a hierarchy of entities were looked at to count them.
  package var countingWalks: Int { opened.withLock { $0 }.counts.walkCount }

  /// The names that are answered, in alphabetical order.
  package static let names = [
    "begin", "changes", "diagram", "discard", "edit", "history", "members", "object", "pending", "plan",
    "redo", "rows",
    "save", "space", "undo", "upload", "value",
  ]
  /// Those of them that change something.
  package static let changing: Set<String> = ["discard", "edit", "redo", "save", "undo", "upload"]
  /// Those of these that are sent bytes as they are, not JSON.
  package static let takingBytes: Set<String> = ["upload"]
  /// How many bytes they are sent at most.
  package static let largestUpload = 32_000_000

  /// Answers a request by calling `reply` once: before this returns, or, for `changes`, when something has changed or some time has passed.
  package func answer(_ request: BrowseRequest, reply: @escaping @Sendable (BrowseAnswer) -> Void) {
    do {
      if request.name == "changes" {
        let after = try request.number("after", else: 0)
        let wait = try request.number("wait", else: 25, most: 60)
        return follower.wait(for: try store(), after: UInt64(after), seconds: wait, asker: request.asker) {
          [path] result in
          reply(result.get(path))
        }
      }
      reply(try answer(request))
    } catch {
      reply(BrowseAnswer(error, store: path))
    }
  }

  private func answer(_ request: BrowseRequest) throws -> BrowseAnswer {
    switch request.name {
    case "pending": return BrowseAnswer(try edits().pending())
    case "undo": return BrowseAnswer(try edits().undo())
    case "redo": return BrowseAnswer(try edits().redo())
    case "discard": return BrowseAnswer(try edits().discard())
    default: break
    }
    if ["edit", "save", "upload"].contains(request.name) {
      // It has to be the store that the page is about: another file that has taken its place has edits of its own.
      _ = try store()
      let edits = try edits()
      switch request.name {
      case "save": return try edits.save()
      case "edit": return BrowseAnswer(try edits.edit(try BrowseEdit(request.body)))
      default:
        return BrowseAnswer(
          try edits.edit(
            BrowseEdit(
              try request.text("id"), attribute: try request.text("name"), bytes: Data(request.body))))
      }
    }
    let store = try store()
    switch request.name {
    case "begin": return try begin(request, store)
    case "rows": return try rows(request, store)
    case "plan": return try plan(request, store)
    case "object": return try object(request, store)
    case "members": return try members(request, store)
    case "value": return try value(request, store)
    case "history": return try history(request, store)
    case "diagram": return diagram(store)
    case "space": return try space(request, store)
    default:
      throw Failure(.missing, "There is no answer of the name “\(request.name.prefix(40))”.")
    }
  }
}

extension Result where Success == BrowseAnswer, Failure == any Error {
  fileprivate func get(_ path: String) -> BrowseAnswer {
    switch self {
    case .success(let answer): answer
    case .failure(let error): BrowseAnswer(error, store: path)
    }
  }
}

/// A store that is open until nobody needs it any more.
final class OpenStore: Sendable {
  /// Another one for each, also where one takes the memory of one before.
  let identity = UUID()
  let coordinator: PersistentStoreCoordinator
  let followed: any FollowedStore
  let schema: Schema
  /// What was edited and not saved yet; nil where the store is only read.
  let edits: EditSession?
  let counts = EntityCounts()

  init(_ path: String, writes: Bool) throws {
    let model = try StorePath.model(path)
    KeptTransformer.register(for: model)
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = try StorePath.description(path)
    if writes {
      description.isReadOnly = false
      description.ignoresModelVersion = false
      description.migratesAutomatically = false
      description.followsOtherProcesses = true
      // The program that the store belongs to says how long its history is kept.
      description.historyRetention = .forever
    }
    let store = try coordinator.addPersistentStore(description)
    guard let followed = store as? any FollowedStore else {
      try coordinator.remove(store)
      throw Failure(.other, "The store does not tell when others save to it.")
    }
    self.followed = followed
    schema = try coordinator.managedObjectModel.schema()
    edits = writes ? EditSession(coordinator, identifier: store.identifier, schema: schema) : nil
  }

  // It is attached until now, so it can be removed.
  deinit { for store in coordinator.persistentStores { try? coordinator.remove(store) } }

  /// The newest commit.
  func window() throws -> StoreWindow { try StoreWindow(followed, schema: schema) }

  /// The newest commit, and its number. What is committed in between is told as a change after it.
  func numberedWindow() throws -> (number: UInt64, window: StoreWindow) {
    let number = try followed.commitNumber()
    return (number, try window())
  }
}
