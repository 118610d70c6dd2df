import Foundation
import StrataModels
import struct StrataCore.Mutex

/// Names that mean something in what the macro writes, in `ManagedObject` and in the language.
@Managed final class Awkward: ManagedObject {
  var value = 1
  var object = "o"
  var container = "c"
  var decoder: String?
  var encoder = 2
  var context = ""
  var read = false
  var write = false
  var key = 1
  var identifier = ""
  var identifiers = [1]
  var members = 0
  var relate = 0
  var hasValue = false
  var state = "s"
  var home = 4
  var newValue = 3
  var makeObject = 1
  var `class` = ""
  var `default` = 1
  var `in`: String?
  @Relationship(inverse: \Awkward.parts) var whole: Awkward?
  @Relationship var parts: [Awkward]
  @Relationship(.symmetric) var friends: Set<Awkward>
}

enum Glass: String, Codable, CaseIterable {
  case clear, tinted
}

/// More visible than what some of its properties are.
@Managed public final class Window: ManagedObject {
  public var title = ""
  public private(set) var opened = 0
  var glass = Glass.clear
  private var secret = 3

  func open() {
    opened += 1
    secret *= 2
  }
  var isSecret: Bool { secret != 3 }
}

@Managed(.abstract) open class Shape: ManagedObject {
  public var name = ""
  @Relationship(inverse: \Drawing.shapes) public var drawing: Drawing?
}

@Managed public final class Circle: Shape {
  public var radius = 1.0
}

@Managed public final class Square: Shape {
  public var side = 1.0
}

@Managed public final class Drawing: ManagedObject {
  @Relationship(.cascade) public var shapes: [Shape]
}

/// Classes inside of others.
enum Garden {
  @Managed final class Bed: ManagedObject {
    @Relationship(inverse: \Plant.beds) var plants: Set<Plant>
  }
  @Managed final class Plant: ManagedObject {
    @Unique var name: String
    @Relationship var beds: Set<Bed>
  }
}

/// What JSON has been written for, and what a later version of the program makes of it.
struct Mood: Codable, Hashable, Sendable {
  var words: [String] = ["calm"]

  /// Whether this is the later version, which needs a key that the earlier one did not write.
  static let isLater = Mutex(false)

  private enum CodingKeys: String, CodingKey { case words, strength }
  init(words: [String] = ["calm"]) { self.words = words }
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    words = try values.decode([String].self, forKey: .words)
    if Self.isLater.withLock({ $0 }) { _ = try values.decode(Int.self, forKey: .strength) }
  }
  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(words, forKey: .words)
  }
}

@Managed final class Day: ManagedObject {
  var number = 0
  var mood = Mood(words: ["new"])
  var other: Mood?
}

/// Initial values that each object has for itself.
@Managed final class Ticket: ManagedObject {
  @Unique var id = UUID()
  var made = Date.now
  var number: Int = Ticket.next()
  var place = Place(row: 4)

  static let count = Mutex(0)
  static func next() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}

@Composite struct Place: Codable, Hashable, Sendable {
  var row = 1
  var seat: Int?
}

@Managed final class SpecialTicket: ManagedObject {
  var code = ""
  var token: String = UUID().uuidString
}
