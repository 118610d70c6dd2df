import Foundation

#if !canImport(UIKit) && !canImport(AppKit)
  extension IndexPath {
    /// The place of a row in a list with sections: two numbers, section and row (rule 250).
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    /// The same for an item.
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

    /// The section. Traps unless the index path has two numbers.
    public var section: Int { self[0] }

    /// The row in its section. Traps unless the index path has two numbers.
    public var row: Int { self[1] }

    /// The same as `row`.
    public var item: Int { self[1] }
  }
#endif
