import CoreData

enum Genre: Int16 {
  case none, novel, poetry
}

public class Writer: NSManagedObject {
  @NSManaged public var name: String?
  @NSManaged public var born: Date?
  @NSManaged public var books: NSSet?
}

// MARK: Generated accessors for books
extension Writer {
  @NSManaged public func addToBooks(_ value: Volume)
  @NSManaged public func removeFromBooks(_ value: Volume)
  @NSManaged public func addToBooks(_ values: NSSet)
  @NSManaged public func removeFromBooks(_ values: NSSet)
}

public class Volume: NSManagedObject {
  /// What a shelf mark is made of.
  public struct Mark: RawRepresentable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }
  public enum Condition: String { case good, worn }
  typealias Money = Decimal

  override public func awakeFromInsert() {
    super.awakeFromInsert()
    added = Date(timeIntervalSinceReferenceDate: 0)
  }
}

extension Volume {
  @nonobjc public class func fetch() -> String { "Volume /* @NSManaged var no: Int */" }

  @NSManaged public var title: String
  @NSManaged public var pages: Int32, copies: Int16, number: Int64
  @NSManaged public var isLent: Bool
  @NSManaged public var weight: Double
  @NSManaged public var rating: Float
  @NSManaged public var added: Date?
  @NSManaged public var seen: TimeInterval
  @NSManaged public var cover: Data?
  @NSManaged public var identifier: UUID?
  @NSManaged public var page: URL?
  @NSManaged var price: Money?
  @NSManaged public var paid: NSDecimalNumber?
  @NSManaged public var shelf: NSNumber?
  @NSManaged var genre: Genre
  @NSManaged public var condition: Condition
  @NSManaged public var mark: Mark?
  @NSManaged public var tags: [String]?
  @NSManaged public var extra: [String: Any]?
  @NSManaged public var anything: Any?
  @NSManaged public var blob: NSObject?
  @NSManaged public var author: Writer?
  @NSManaged public var owner: Writer
  @NSManaged public var loans: Set<Loan>
  @NSManaged public var chapters: NSOrderedSet?
  @NSManaged private var secret: String?
  @NSManaged public private(set) var counted: Int
  @NSManaged public var größe: Int64

  public var told: String? {
    get { secret }
    set {
      secret = newValue
      counted += 1
    }
  }

  #if os(macOS)
    @NSManaged public var image: NSImage?
  #elseif DEBUG || !DEBUG
    @NSManaged public var imageName: String?
  #else
    @NSManaged public var nothing: Nothing?
  #endif
}

extension Volume {
  @NSManaged public func insertIntoChapters(_ value: Chapter, at idx: Int)
  @NSManaged public func insertIntoChapters(_ values: [Chapter], at indexes: NSIndexSet)
  @NSManaged public func removeFromChapters(at idx: Int)
  @NSManaged public func removeFromChapters(at indexes: NSIndexSet)
  @NSManaged public func replaceChapters(at idx: Int, with value: Chapter)
  @NSManaged public func replaceChapters(at indexes: NSIndexSet, with values: [Chapter])
  @NSManaged public func addToChapters(_ value: Chapter)
  @NSManaged public func addToChapters(_ values: NSOrderedSet)
  @NSManaged public func removeFromChapters(_ value: Chapter)
  @NSManaged public func removeFromChapters(_ values: NSOrderedSet)
}

public class Record: NSManagedObject {
  @NSManaged public var noted: Date
}

public final class Chapter: Record {
  @NSManaged public var heading: String?
  @NSManaged public var book: Volume?
}

public class Loan: Record {
  @NSManaged public var to: String?
  @NSManaged public var book: Volume?
}

class Internal: NSManagedObject {
  @NSManaged var genre: Genre
  @NSManaged final var count: Int
}

public func makeHidden(_ context: NSManagedObjectContext, _ entity: NSEntityDescription) -> NSManagedObject {
  let hidden = Hidden(entity: entity, insertInto: context)
  hidden.word = "hidden"
  hidden.genre = .poetry
  return hidden
}
public var hiddenClass: NSManagedObject.Type { Hidden.self }

private class Hidden: NSManagedObject {
  @NSManaged var word: String?
  @NSManaged var genre: Genre
}
