import Foundation
@_spi(Testing) import StrataCore
import Strata

/// A store that many processes use at once. Every save of a worker raises one or two shared counters, appends its name and
/// number to the history of each, and inserts a note of its own: what is in the store follows from how many saves each worker
/// has made, but for the order of the histories.
public enum Crowd {
  /// How many counters there are, and histories.
  public static let subjects = 4

  public static let model = ManagedObjectModel(entities: [
    // One entity, so that one fetch sees everything as it was at one moment.
    EntityDescription(
      "Fact", managedObjectClass: Fact.self,
      properties: [
        AttributeDescription("kind", .integer16, isOptional: false),
        AttributeDescription("owner", .integer32, isOptional: false),
        AttributeDescription("number", .integer64, isOptional: false, defaultValue: 0),
        AttributeDescription("text", .string),
      ],
      uniquenessConstraints: [["kind", "owner", "number"]],
      indexes: [FetchIndexDescription(name: "byText", attributes: ["text"])])
  ])

  /// Opens the store at `path`; one that is missing is made.
  ///
  /// - Parameter mapSize: a small one makes the store outgrow it; nil for the default.
  public static func open(
    _ path: String, isReadOnly: Bool = false, timeout: Duration = .seconds(30), mapSize: Int? = nil
  ) throws -> PersistentContainer {
    let container = PersistentContainer(name: "Crowd", model: model)
    var options = LMDBStoreOptions()
    options.isReadOnly = isReadOnly
    options.writerDeadline = timeout
    options.mapSize = mapSize
    let store = try LMDBStore(url: URL(fileURLWithPath: path), schema: model.schema(), options: options)
    do {
      try container.persistentStoreCoordinator.attach(store)
    } catch {
      store.close()
      throw error
    }
    return container
  }

  /// Makes the counters and histories, once.
  public static func prepare(_ container: PersistentContainer) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for subject in 0..<subjects {
        for kind in [Fact.Kind.counter, .history] {
          let fact = Fact(context: context)
          fact.kind = kind
          fact.owner = subject
        }
      }
      try context.save()
    }
  }
}

/// A counter, a history or a note.
public final class Fact: ManagedObject {
  public enum Kind: Int16 { case counter, history, note }

  public override class var declaredSlots: [String]? { ["kind", "owner", "number", "text"] }

  public var kind: Kind? {
    get { Kind(rawValue: readInt16(slot: 0)) }
    set { write(newValue?.rawValue ?? -1, slot: 0) }
  }
  /// A counter's and a history's subject, a note's worker.
  public var owner: Int {
    get { Int(readInt32(slot: 1)) }
    set { write(Int32(newValue), slot: 1) }
  }
  /// A counter's value; the worker's save that made a note; 0 for a history.
  public var number: Int {
    get { Int(readInt64(slot: 2)) }
    set { write(Int64(newValue), slot: 2) }
  }
  /// A history's entries, which outgrow the row; a note's text.
  public var text: String? {
    get { readString(slot: 3) }
    set { write(newValue, slot: 3) }
  }
}

/// What a save of a worker consists of. The numbers alone decide.
public struct CrowdSave: Sendable, Hashable {
  public let worker: Int
  public let number: Int

  public init(worker: Int, number: Int) {
    self.worker = worker
    self.number = number
  }

  /// The counters it raises, in ascending order.
  public var subjects: [Int] {
    var random = SeededGenerator(seed: UInt64(worker) << 32 ^ UInt64(number))
    return Set([random.below(Crowd.subjects), random.below(Crowd.subjects)]).sorted()
  }

  /// What its note says: short, longer than a key, longer than a row takes.
  public var text: String {
    String(repeating: "crowd ", count: [1, 1, 5, 60, 200][(worker + number) % 5]) + entry
  }

  /// How it appears in a history.
  public var entry: String { "\(worker):\(number) " }

  /// The saves in a history, in their order; nil when it is not valid.
  static func parse(_ history: String) -> [CrowdSave]? {
    var saves: [CrowdSave] = []
    var numbers = [0]
    for byte in history.utf8 {
      switch byte {
      case UInt8(ascii: ":"): numbers.append(0)
      case UInt8(ascii: " "):
        if numbers.count != 2 { return nil }
        saves.append(CrowdSave(worker: numbers[0], number: numbers[1]))
        numbers = [0]
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte - 48)
      default: return nil
      }
    }
    return numbers == [0] ? saves : nil
  }
}
