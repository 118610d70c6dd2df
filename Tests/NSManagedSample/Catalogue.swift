import CoreData
import Foundation

/// A class as it is written for Core Data: computed and stored properties that key-value coding finds by their names, checks of values, primitives,
/// relationships to objects of no class of their own.
public class Edition: NSManagedObject {
  @NSManaged public var title: String?
  @NSManaged public var pages: Int32
  @NSManaged public var printed: Date?
  @NSManaged public var house: NSManagedObject?
  @NSManaged public var keeper: NSManagedObject
  @NSManaged public var copies: Set<NSManagedObject>
  @NSManaged public var primitiveTitle: String?
  @NSManaged var primitivePages: Int32
  @NSManaged var primitivePrinted: TimeInterval
  @NSManaged var primitiveGenre: Genre
  @NSManaged var primitiveCopies: Set<NSManagedObject>

  /// How often an initial was asked for, on the queue of the test's context.
  nonisolated(unsafe) public static var asked = 0
  /// What was printed about it.
  public var note = "none"
  public let shelf: Int = 7

  public var initial: String {
    Self.asked += 1
    return String((title ?? "?").prefix(1)).uppercased()
  }

  public var thickness: Double {
    get { Double(pages) * 0.1 }
    set { pages = Int32(newValue * 10) }
  }

  /// An accessor of a modelled attribute: what is stored is in small letters.
  public var subtitle: String? {
    get {
      willAccessValue(forKey: "subtitle")
      defer { didAccessValue(forKey: "subtitle") }
      return (primitiveValue(forKey: "subtitle") as? String)?.uppercased()
    }
    set {
      willChangeValue(forKey: "subtitle")
      setPrimitiveValue(newValue?.lowercased(), forKey: "subtitle")
      didChangeValue(forKey: "subtitle")
    }
  }

  /// Asks by its own key, as code without `@NSManaged` does.
  public var remark: String? {
    get { value(forKey: "remark") as? String }
    set { setValue(newValue, forKey: "remark") }
  }

  /// No type that Objective-C knows: the attribute of that name is not hidden by it.
  var genre: Genre {
    get {
      Genre(
        rawValue: Int16(truncatingIfNeeded: (primitiveValue(forKey: "genre") as? NSNumber)?.intValue ?? 0))
        ?? .none
    }
    set { setPrimitiveValue(newValue.rawValue, forKey: "genre") }
  }

  /// What a class for Apple's systems declares `@objc`: key-value coding knows the number.
  var shownGenre: Genre {
    get { genre }
    set { genre = newValue }
  }
  var knownGenre: Genre? {
    get { genre == .none ? nil : genre }
    set { genre = newValue ?? .none }
  }
  var smallMark: Int8? = 1
  var era: Era { .modern }
  enum Era: String { case modern }

  var firstMark = 1, secondMark = "two", thirdMark: [String: Int] = ["a": 1, "b": 2]

  public var houseName: String? { house?.value(forKey: "name") as? String }
  public class func keyPathsForValuesAffectingHouseName() -> Set<String> { ["house.name"] }

  /// Made of the title, and kept: as classes with a transient section identifier do it.
  public var period: String? {
    willAccessValue(forKey: "period")
    var period = primitiveValue(forKey: "period") as? String
    didAccessValue(forKey: "period")
    if period == nil {
      period = (printed ?? .distantPast) < Date(timeIntervalSinceReferenceDate: 0) ? "old" : "new"
      setPrimitiveValue(period, forKey: "period")
    }
    return period
  }

  public func validateTitle(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
    guard let text = value.pointee as? String else { return }
    if text == "Forbidden" { throw NSError(domain: "Catalogue", code: 7) }
    value.pointee = text.trimmingCharacters(in: .whitespaces) as NSString
  }

  // What no key finds.
  private var hidden: Int { 1 }
  static var number: Int { 1 }
  var failing: Int { get throws { throw CocoaError(.coderInvalidValue) } }
  @available(*, deprecated) var older: Int { 1 }
}

extension Edition {
  public var summary: String { "\(title ?? "") – \(note)" }
}

/// Overrides what its superclass has.
public final class Reprint: Edition {
  override public var initial: String { "R" + super.initial }
  @NSManaged var year: Int16
  var isLate: Bool { year > 2000 }
}
