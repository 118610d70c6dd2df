import Foundation
import StrataCore

/// An attribute that holds an array, as a mutable array: what `mutableArrayValue(forKey:)` hands out. Each edit reads the attribute
/// and sets the new one. Belongs to the context's queue.
final class AttributeArray: NSMutableArray {
  private let owner: NSManagedObject
  private let key: String

  init(_ owner: NSManagedObject, _ key: String) {
    self.owner = owner
    self.key = key
    super.init(capacity: 0)
    _ = elements
  }

  required convenience init(arrayLiteral elements: Any...) { Self.refuse() }
  required init?(coder aDecoder: NSCoder) { Self.refuse() }
  required init(objects: UnsafePointer<AnyObject>?, count: Int) { Self.refuse() }
  private static func refuse() -> Never {
    stop("An attribute's array is made by mutableArrayValue(forKey:) only.")
  }

  /// What the attribute holds; nothing for nil.
  private var elements: [Any] {
    switch owner.value(forKey: key) {
    case nil: return []
    case let array as [Any]: return array
    case let array as NSArray: return array.map { $0 }
    case let other?:
      stop("\(owner.entity.name ?? "?").\(key) holds a value of type \(type(of: other)), no array.")
    }
  }

  private func edit(_ body: (inout [Any]) -> Void) {
    var elements = elements
    body(&elements)
    owner.setValue(elements, forKey: key)
  }

  override var count: Int { elements.count }
  override func object(at index: Int) -> Any { elements[index] }
  override func insert(_ anObject: Any, at index: Int) { edit { $0.insert(anObject, at: index) } }
  override func add(_ anObject: Any) { edit { $0.append(anObject) } }
  override func removeObject(at index: Int) { edit { $0.remove(at: index) } }
  override func removeLastObject() { edit { $0.removeLast() } }
  override func replaceObject(at index: Int, with anObject: Any) { edit { $0[index] = anObject } }

  // MARK: What Foundation leaves to subclasses

  override func replaceObjects(in range: NSRange, withObjectsFrom otherArray: [Any]) {
    edit { $0.replaceSubrange(range.location..<range.location + range.length, with: otherArray) }
  }
  override func replaceObjects(
    in range: NSRange, withObjectsFrom otherArray: [Any], range otherRange: NSRange
  ) {
    replaceObjects(
      in: range,
      withObjectsFrom: Array(otherArray[otherRange.location..<otherRange.location + otherRange.length]))
  }
  override func exchangeObject(at idx1: Int, withObjectAt idx2: Int) { edit { $0.swapAt(idx1, idx2) } }
  override func setArray(_ otherArray: [Any]) { edit { $0 = otherArray } }
  override func removeAllObjects() { edit { $0 = [] } }
}
